// The shell around a KeyWriter: calls the store, waits, and says what it has to say.
#ifndef PHALANX_CONTROL_ETCD_KEY_DRIVER_H_
#define PHALANX_CONTROL_ETCD_KEY_DRIVER_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/deadline.h"
#include "base/logger.h"
#include "keyed_record/key_store.h"
#include "keyed_record/key_writer.h"

namespace phalanx::control {

class KeyDriver {
 public:
  KeyDriver(std::unique_ptr<KeyStore> store, KeyWriterSettings settings, Logger logger)
      : store_(std::move(store)), writer_(std::move(settings)), logger_(std::move(logger)) {}

  // Returns when it has ended, by the deadline and a call's time-out at the latest. One at a time,
  // on any thread.
  Finished Perform(KeyRequest request, Deadline deadline);
  // While nothing is under way; see KeyWriter.
  int64_t revision() const { return writer_.revision(); }

  // From any thread: what is under way ends with CANCELLED as soon as the store's call has
  // returned, and so does whatever comes after.
  void Stop();

 private:
  // False: stopped.
  bool WaitUntil(int64_t at_ns);

  const std::unique_ptr<KeyStore> store_;
  KeyWriter writer_;
  const Logger logger_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_ETCD_KEY_DRIVER_H_
