// Keeps a value under one key of a store that changes it by compare-and-set on its revision, while
// answers are lost and late. Pure: time is an input, and the same inputs give the same outputs.
//
// The shell serialises the calls and performs the outputs in their order; it answers each StoreCall
// once. One request at a time.
#ifndef PHALANX_KEYED_RECORD_KEY_WRITER_H_
#define PHALANX_KEYED_RECORD_KEY_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "keyed_record/envelope.h"

namespace phalanx::control {

// An operation of the store.
struct StoreCall {
  enum class Kind : uint8_t {
    kGet,     // the newest: no answer that a replica has from before
    kPut,     // `value`, if the key's revision still is `expected`, else as kGet
    kRemove,  // whatever stands there
  };
  Kind kind = Kind::kGet;
  size_t endpoint = 0;   // which of the store's addresses is asked
  int64_t expected = 0;  // revision; 0: there is no key
  std::string value;     // kPut
  int64_t timeout_ns =
      0;  // then it is answered with an error; it may happen all the same, even later
};

struct StoreAnswer {
  // Not OK: nothing is known of what was called.
  absl::Status status;
  bool put = false;      // kPut: it stands, with this revision
  int64_t revision = 0;  // of the key; 0: there is none
  std::string value;     // unless `put`
};

// What is asked of it; each is answered by one Finished.
struct CreateKey {};  // with an empty value. ALREADY_EXISTS: it is there, made by somebody else
// Puts what stands there under our name, so that nobody else's put that is under way succeeds any
// more.
//   NOT_FOUND         there is no such key
//   INVALID_ARGUMENT  what stands there was not put by a KeyWriter
struct ClaimKey {};
// After CreateKey or ClaimKey, and as long as nothing has failed.
//   ABORTED    somebody else has changed the value since our last put. Ours may have stood there
//              for a time, and then a claim has found it; it can't come to stand there any more
//   NOT_FOUND  the key is gone
struct PutValue {
  std::string value;
};
struct RemoveKey {};  // OK as well if there is none
using KeyRequest = std::variant<CreateKey, ClaimKey, PutValue, RemoveKey>;

struct Begin {
  KeyRequest request;
  int64_t deadline_ns = 0;  // at the first Step from then on it has ended
};
struct WakeUp {};  // due at WakeAt()
using KeyInput = std::variant<Begin, StoreAnswer, WakeUp>;

struct Say {
  std::string line;  // for whoever looks after the job
};
struct Finished {
  // Beside what the requests have, DEADLINE_EXCEEDED: the store hasn't answered in time, nothing is
  // known, and nothing more may be put here.
  absl::Status status;
  std::string value;  // of ClaimKey: what stands there
};
using KeyOutput = std::variant<StoreCall, Say, Finished>;

struct KeyWriterSettings {
  uint64_t writer = 0;                  // random, never used before
  std::vector<std::string> endpoints;   // what people call them; not empty
  std::string store = "etcd";           // in what is said
  int64_t call_ns = 1'000'000'000;      // a call that isn't answered by then is tried elsewhere
  int64_t first_pause_ns = 20'000'000;  // after a failure; doubles with each up to the longest
  int64_t longest_pause_ns = 500'000'000;
  int64_t say_after_ns = 1'000'000'000;  // without an answer it is said, and again
  int64_t say_again_ns = 10'000'000'000;
};

class KeyWriter {
 public:
  explicit KeyWriter(KeyWriterSettings settings) : settings_(std::move(settings)) {}

  // `now_ns` never falls. Begin: only while idle() (a bug otherwise).
  std::vector<KeyOutput> Step(const KeyInput& input, int64_t now_ns);

  bool idle() const { return !request_.has_value(); }
  // Of the newest put of ours, a claim's included; they rise with each put of anybody.
  int64_t revision() const { return revision_; }
  // When to call with WakeUp at the latest; nothing while idle or while a call is under way.
  std::optional<int64_t> WakeAt() const { return wake_at_ns_; }

 private:
  void Handle(const Begin& begin);
  void Handle(const StoreAnswer& answer);
  void Handle(const WakeUp& wake_up);

  void Judge(const StoreAnswer& answer);
  void JudgeForeign(const StoreAnswer& answer);
  void TakeOver(const StoreAnswer& answer);
  void Failed(const absl::Status& status);
  void Answered();
  void Call();
  void CallPut(int64_t expected, std::string bytes);
  void Finish(absl::Status status, std::string value = "");

  const KeyWriterSettings settings_;
  int64_t now_ns_ = 0;
  int64_t revision_ = 0;  // of our last put, unless `failed_`
  uint64_t puts_ = 0;
  bool failed_ = false;

  std::optional<KeyRequest> request_;
  int64_t deadline_ns_ = 0;
  StoreCall call_;       // the last, repeated until it is answered
  WriteTag tag_;         // of what it puts
  std::string claimed_;  // ClaimKey: the value that it puts
  size_t endpoint_ = 0;
  int64_t pause_ns_ = 0;
  std::optional<int64_t> wake_at_ns_;
  std::optional<int64_t> silent_since_ns_;  // when the first call began that failed
  std::optional<int64_t> said_at_ns_;
  int64_t called_at_ns_ = 0;
  absl::Status problem_;
  std::vector<KeyOutput> outputs_;
};

}  // namespace phalanx::control

#endif  // PHALANX_KEYED_RECORD_KEY_WRITER_H_
