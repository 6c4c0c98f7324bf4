// The register that holds a job's record under a key of a store that outlives the coordinator.
#ifndef PHALANX_CONTROL_ETCD_KEYED_REGISTER_H_
#define PHALANX_CONTROL_ETCD_KEYED_REGISTER_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/logger.h"
#include "control_record/job_record.h"
#include "control_record/job_register.h"
#include "keyed_record/key_store.h"

namespace phalanx::control {

class KeyDriver;

struct KeyedRegisterOptions {
  std::vector<std::string> endpoints;  // of the store, as it was opened with
  // How long the store may be away, each time, until a request fails.
  Clock::duration patience = std::chrono::seconds(60);
  Logger logger;
};

class KeyedRegister final : public JobRegister {
 public:
  // Blocks for as long as the store is away. Errors are ClaimKey's, DEADLINE_EXCEEDED, and
  // INVALID_ARGUMENT: what is kept there is no record.
  static absl::StatusOr<std::unique_ptr<KeyedRegister>> Open(std::unique_ptr<KeyStore> store,
                                                             const KeyedRegisterOptions& options);
  // Whoever is under way isn't told any more; waits for the store's last answer.
  ~KeyedRegister() override;

  // `done` is called on a thread of the register's. Beside JobRegister's errors, NOT_FOUND: the key
  // is gone.
  void Write(const JobRecord& record, Done done) override;
  // The revision of the key that the claim has made.
  uint64_t claim() const override { return claim_; }

 private:
  KeyedRegister(std::unique_ptr<KeyDriver> driver, Clock::duration patience,
                std::optional<JobRecord> found);
  void Run();

  struct Waiting {
    std::string value;
    Done done;
  };

  const std::unique_ptr<KeyDriver> driver_;
  const uint64_t claim_;
  const Clock::duration patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Waiting> waiting_;
  bool stopped_ = false;
  std::thread thread_;  // the last: it uses the others
};

// Makes the key, with no record in it yet; ALREADY_EXISTS and DEADLINE_EXCEEDED as CreateKey.
absl::Status CreateRecordKey(std::unique_ptr<KeyStore> store, const KeyedRegisterOptions& options);
// Whoever still has a register on it finds it gone.
absl::Status RemoveRecordKey(std::unique_ptr<KeyStore> store, const KeyedRegisterOptions& options);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_ETCD_KEYED_REGISTER_H_
