// Which keyed all-reduces travel together: agreed by all ranks of a communicator, in rounds. Pure.
//
// Ranks reduce many small tensors, each under a key, in orders of their own. In a round every rank
// says which of them it has ready, and all ranks draw the same conclusion from what all have said.
// Two ideas of Horovod's (https://arxiv.org/abs/1802.05799, and its response cache): a key that all
// ranks know costs one bit; what is ready everywhere is packed up to a size.
#ifndef PHALANX_FUSION_NEGOTIATION_H_
#define PHALANX_FUSION_NEGOTIATION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ordering/explanation.h"
#include "ordering/signature.h"

namespace phalanx::fusion {

inline constexpr size_t kMaxKeyBytes = 255;

struct Settings {
  int rank = 0;
  int size = 1;
  uint64_t most_bytes = 0;  // of what travels together; what is larger travels alone
};

// Keys whose oldest uses are reduced as one, in this order: one type, one operation. A
// pre-multiplied sum travels alone, since its factors differ.
struct Batch {
  std::vector<std::string> keys;
};
// The oldest use of a key, over with on all ranks: two of them don't mean the same.
struct Mismatch {
  std::string key;
  ordering::Party left;
  ordering::Party right;
};
struct Conclusion {
  std::vector<Batch> batches;  // to be performed in this order
  std::vector<Mismatch> mismatches;
};

// One rank's part. All ranks have the same settings but for `rank`, and take part in every round:
// Message() on each, then Conclude() on each with all of them.
class Negotiation {
 public:
  explicit Negotiation(const Settings& settings) : settings_(settings) {}

  // An all-reduce is ready here. Uses of a key are a sequence. At most kMaxKeyBytes of key.
  void Add(absl::string_view key, const ordering::Signature& signature);

  // Uses that are ready here and not concluded on; and how many bytes they reduce.
  size_t waiting() const { return waiting_; }
  uint64_t waiting_bytes() const { return waiting_bytes_; }
  // Whether there is a use that no message of ours has told of yet.
  bool has_news() const { return untold_ > 0; }

  // What this rank says in the round that begins; of MessageBytes(), which are equal on all ranks.
  std::string Message();
  size_t MessageBytes() const;
  // What follows from all ranks' messages, by rank. INTERNAL, and then nothing goes on, when one
  // isn't well formed.
  absl::StatusOr<Conclusion> Conclude(absl::Span<const std::string> messages);

  // The ranks that hadn't the key's oldest use ready in the last round.
  std::vector<int> MissingFor(absl::string_view key) const;

 private:
  struct Entry {  // equal on all ranks
    std::string key;
    ordering::Signature signature;  // of the last use that anybody told of by name
    std::vector<std::optional<ordering::Signature>> ready;  // by rank
    int ready_ranks = 0;
    uint64_t last_round = 0;
  };
  struct Own {
    std::deque<ordering::Signature> uses;
    bool told = false;  // of the first
  };

  size_t BitBytes() const { return (entries_.size() + 7) / 8; }
  absl::Status ReadBits(int rank, absl::string_view message);
  absl::Status ReadNews(int rank, absl::string_view news);
  size_t EntryFor(const std::string& key, const ordering::Signature& signature);
  void SetReady(size_t index, int rank, const ordering::Signature& signature);
  void Settle(Entry* entry, Conclusion* conclusion);
  void AddToBatch(const Entry& entry, Conclusion* conclusion);
  void PopOwn(const std::string& key);

  const Settings settings_;
  uint64_t round_ = 0;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> indices_;
  std::map<std::string, Own, std::less<>> own_;
  size_t waiting_ = 0;
  size_t untold_ = 0;
  uint64_t waiting_bytes_ = 0;
  // While concluding: bytes of the last batch of a type and operation, and which one that is.
  std::map<std::pair<DataType, ReduceOp>, std::pair<size_t, uint64_t>> open_;
};

}  // namespace phalanx::fusion

#endif  // PHALANX_FUSION_NEGOTIATION_H_
