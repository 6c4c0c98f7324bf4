// Makes communicators out of one.
#ifndef PHALANX_API_SPLIT_H_
#define PHALANX_API_SPLIT_H_

#include <cstdint>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "communicator_state.h"

namespace phalanx::api {

// One split, by one member: see Communicator::Split. Its number is taken when it is constructed.
class Split {
 public:
  Split(std::shared_ptr<CommunicatorState> parent, int color, int key);
  // Blocks until it is done, here or on the thread of its own.
  ~Split();
  Split(const Split&) = delete;
  Split& operator=(const Split&) = delete;

  // Either Run(), or Start() and then Await(). Null for a negative color.
  absl::StatusOr<std::shared_ptr<CommunicatorState>> Run();
  void Start();
  absl::StatusOr<std::shared_ptr<CommunicatorState>> Await();

 private:
  const std::shared_ptr<CommunicatorState> parent_;
  const int color_;
  const int key_;
  const uint64_t number_;
  bool ran_ = false;
  std::thread thread_;
  absl::StatusOr<std::shared_ptr<CommunicatorState>> result_;
};

}  // namespace phalanx::api

#endif  // PHALANX_API_SPLIT_H_
