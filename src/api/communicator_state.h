// A communicator behind its public face: checks calls and hands them to its channel.
#ifndef PHALANX_API_COMMUNICATOR_STATE_H_
#define PHALANX_API_COMMUNICATOR_STATE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/channel.h"
#include "extents.h"
#include "fuser.h"
#include "phalanx/communicator.h"
#include "split_queue.h"

namespace phalanx::api {

class SessionState;

// May outlive its session; knows by `session->open()`, and never touches the session's engine
// after.
class CommunicatorState {
 public:
  CommunicatorState(std::shared_ptr<SessionState> session,
                    std::shared_ptr<engine::Channel> channel);
  ~CommunicatorState();
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  int rank() const { return channel_->group().rank; }
  int size() const { return channel_->group().size; }
  SessionState& session() const { return *session_; }
  const std::shared_ptr<SessionState>& shared_session() const { return session_; }
  engine::Channel& channel() const { return *channel_; }

  // Check, then make the request that the channel takes.
  absl::StatusOr<engine::Request> Prepare(const Call& call, const Reduction& reduction,
                                          const OpOptions& options) const;
  absl::StatusOr<engine::Request> PrepareAllGather(const void* send, void* receive,
                                                   const Parts& parts, DataType type,
                                                   const OpOptions& options) const;
  absl::StatusOr<engine::Request> PrepareAllToAll(const void* send, const Parts& send_parts,
                                                  void* receive, const Parts& receive_parts,
                                                  DataType type, const OpOptions& options) const;

  // Starts a prepared request. The result carries one reference for the caller.
  engine::Operation* Issue(const engine::Request& request);

  SplitQueue& splits() { return splits_; }

  // "rank 1, communicator 3", for messages.
  std::string Who() const;
  absl::Status CheckOpen(const char* operation) const;

 private:
  absl::Status SetKey(const OpOptions& options, engine::Request* request) const;
  engine::Request RequestFor(const Call& call, const OpOptions& options) const;

  const std::shared_ptr<SessionState> session_;
  const std::shared_ptr<engine::Channel> channel_;
  SplitQueue splits_;
  std::once_flag fuser_made_;
  std::shared_ptr<Fuser> fuser_;  // from the first operation for it on
};

}  // namespace phalanx::api

#endif  // PHALANX_API_COMMUNICATOR_STATE_H_
