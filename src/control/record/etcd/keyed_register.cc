#include "control_etcd/keyed_register.h"

#include <utility>

#include "base/status_macros.h"
#include "control_process/spawn.h"
#include "key_driver.h"

namespace phalanx::control {
namespace {

std::unique_ptr<KeyDriver> DriverFor(std::unique_ptr<KeyStore> store,
                                     const KeyedRegisterOptions& options) {
  KeyWriterSettings settings;
  settings.writer = RandomNumber();
  settings.endpoints = options.endpoints;
  return std::make_unique<KeyDriver>(std::move(store), std::move(settings), options.logger);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KeyedRegister>> KeyedRegister::Open(
    std::unique_ptr<KeyStore> store, const KeyedRegisterOptions& options) {
  std::unique_ptr<KeyDriver> driver = DriverFor(std::move(store), options);
  const Finished claimed = driver->Perform(ClaimKey{}, Deadline::After(options.patience));
  PHX_RETURN_IF_ERROR(claimed.status);
  std::optional<JobRecord> found;
  if (!claimed.value.empty()) {
    PHX_ASSIGN_OR_RETURN(found, DecodeJobRecord(claimed.value));
  }
  return std::unique_ptr<KeyedRegister>(
      new KeyedRegister(std::move(driver), options.patience, std::move(found)));
}

KeyedRegister::KeyedRegister(std::unique_ptr<KeyDriver> driver, Clock::duration patience,
                             std::optional<JobRecord> found)
    : JobRegister(std::move(found)),
      driver_(std::move(driver)),
      claim_(static_cast<uint64_t>(driver_->revision())),
      patience_(patience),
      thread_([this] { Run(); }) {}

KeyedRegister::~KeyedRegister() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  driver_->Stop();
  thread_.join();
}

void KeyedRegister::Write(const JobRecord& record, Done done) {
  const std::lock_guard lock(mutex_);
  waiting_ = Waiting{Encode(record), std::move(done)};
  changed_.notify_all();
}

void KeyedRegister::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || waiting_.has_value(); });
    if (stopped_) return;
    Waiting write = *std::exchange(waiting_, std::nullopt);
    lock.unlock();
    const Finished written =
        driver_->Perform(PutValue{std::move(write.value)}, Deadline::After(patience_));
    lock.lock();
    if (stopped_) return;
    // Not under the lock: it may write the next.
    lock.unlock();
    write.done(written.status);
    lock.lock();
  }
}

absl::Status CreateRecordKey(std::unique_ptr<KeyStore> store, const KeyedRegisterOptions& options) {
  return DriverFor(std::move(store), options)
      ->Perform(CreateKey{}, Deadline::After(options.patience))
      .status;
}

absl::Status RemoveRecordKey(std::unique_ptr<KeyStore> store, const KeyedRegisterOptions& options) {
  return DriverFor(std::move(store), options)
      ->Perform(RemoveKey{}, Deadline::After(options.patience))
      .status;
}

}  // namespace phalanx::control
