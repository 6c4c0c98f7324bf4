#include "phalanx/communicator.h"

#include <utility>

#include "communicator_state.h"
#include "phalanx/graph.h"
#include "recorded_call.h"
#include "split.h"
#include "work_access.h"

namespace phalanx {

using plan::CollectiveKind;
using RequestOr = absl::StatusOr<engine::Request>;

Communicator::Communicator(std::shared_ptr<api::CommunicatorState> state)
    : state_(std::move(state)) {}

Communicator::~Communicator() = default;

int Communicator::rank() const { return state_->rank(); }
int Communicator::size() const { return state_->size(); }

Work Communicator::Start(RequestOr* request, const OpOptions& options) {
  if (options.graph != nullptr) return Record(request, options, options.graph);
  if (options.group != nullptr) return Record(request, options, options.group);
  if (!request->ok()) return Work(request->status());
  return WorkAccess::Make(state_->Issue(**request));
}

template <typename Recorder>
Work Communicator::Record(RequestOr* request, const OpOptions& options, Recorder* recorder) {
  if (options.graph != nullptr && (options.group != nullptr || options.stream != nullptr)) {
    *request = absl::InvalidArgumentError(
        "a call that is recorded into a graph has a group or a stream too; the stream is given to "
        "Graph::Launch(), and groups aren't recorded");
  }
  recorder->error_.Update(request->status());
  if (!request->ok()) return Work(request->status());
  recorder->entries_.push_back(
      std::make_unique<api::RecordedCall>(api::RecordedCall{state_, *std::move(*request)}));
  return Work();
}

Work Communicator::AllReduce(const void* send, void* receive, size_t count, DataType type,
                             const Reduction& reduction, const OpOptions& options) {
  RequestOr request =
      state_->Prepare({CollectiveKind::kAllReduce, send, receive, count, type}, reduction, options);
  return Start(&request, options);
}

Work Communicator::ReduceScatter(const void* send, void* receive, size_t count, DataType type,
                                 const Reduction& reduction, const OpOptions& options) {
  RequestOr request = state_->Prepare({CollectiveKind::kReduceScatter, send, receive, count, type},
                                      reduction, options);
  return Start(&request, options);
}

Work Communicator::AllGather(const void* send, void* receive, size_t count, DataType type,
                             const OpOptions& options) {
  RequestOr request = state_->Prepare({CollectiveKind::kAllGather, send, receive, count, type},
                                      ReduceOp::kSum, options);
  return Start(&request, options);
}

Work Communicator::AllGather(const void* send, void* receive, const Parts& parts, DataType type,
                             const OpOptions& options) {
  RequestOr request = state_->PrepareAllGather(send, receive, parts, type, options);
  return Start(&request, options);
}

Work Communicator::Broadcast(const void* send, void* receive, size_t count, DataType type, int root,
                             const OpOptions& options) {
  RequestOr request = state_->Prepare(
      {CollectiveKind::kBroadcast, send, receive, count, type, root}, ReduceOp::kSum, options);
  return Start(&request, options);
}

Work Communicator::Reduce(const void* send, void* receive, size_t count, DataType type,
                          const Reduction& reduction, int root, const OpOptions& options) {
  RequestOr request = state_->Prepare({CollectiveKind::kReduce, send, receive, count, type, root},
                                      reduction, options);
  return Start(&request, options);
}

Work Communicator::Gather(const void* send, void* receive, size_t count, DataType type, int root,
                          const OpOptions& options) {
  RequestOr request = state_->Prepare({CollectiveKind::kGather, send, receive, count, type, root},
                                      ReduceOp::kSum, options);
  return Start(&request, options);
}

Work Communicator::Scatter(const void* send, void* receive, size_t count, DataType type, int root,
                           const OpOptions& options) {
  RequestOr request = state_->Prepare({CollectiveKind::kScatter, send, receive, count, type, root},
                                      ReduceOp::kSum, options);
  return Start(&request, options);
}

Work Communicator::AllToAll(const void* send, void* receive, size_t count, DataType type,
                            const OpOptions& options) {
  RequestOr request = state_->Prepare({CollectiveKind::kAllToAll, send, receive, count, type},
                                      ReduceOp::kSum, options);
  return Start(&request, options);
}

Work Communicator::AllToAll(const void* send, const Parts& send_parts, void* receive,
                            const Parts& receive_parts, DataType type, const OpOptions& options) {
  RequestOr request =
      state_->PrepareAllToAll(send, send_parts, receive, receive_parts, type, options);
  return Start(&request, options);
}

Work Communicator::Send(const void* send, size_t count, DataType type, int peer,
                        const OpOptions& options) {
  RequestOr request = state_->Prepare({CollectiveKind::kSend, send, nullptr, count, type, peer},
                                      ReduceOp::kSum, options);
  return Start(&request, options);
}

Work Communicator::Receive(void* receive, size_t count, DataType type, int peer,
                           const OpOptions& options) {
  RequestOr request = state_->Prepare(
      {CollectiveKind::kReceive, nullptr, receive, count, type, peer}, ReduceOp::kSum, options);
  return Start(&request, options);
}

Work Communicator::Barrier(const OpOptions& options) {
  RequestOr request = state_->Prepare(
      {CollectiveKind::kBarrier, nullptr, nullptr, 0, DataType::kUint8}, ReduceOp::kSum, options);
  return Start(&request, options);
}

namespace {

absl::StatusOr<std::unique_ptr<Communicator>> Wrap(
    absl::StatusOr<std::shared_ptr<api::CommunicatorState>> part) {
  if (!part.ok()) return std::move(part).status();
  if (*part == nullptr) return std::unique_ptr<Communicator>();
  return std::make_unique<Communicator>(*std::move(part));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Split(int color, int key) {
  return Wrap(api::Split(state_, color, key).Run());
}

PendingCommunicator Communicator::StartSplit(int color, int key) {
  PendingCommunicator pending(std::make_unique<api::Split>(state_, color, key));
  pending.split_->Start();
  return pending;
}

PendingCommunicator::PendingCommunicator(std::unique_ptr<api::Split> split)
    : split_(std::move(split)) {}
PendingCommunicator::PendingCommunicator(PendingCommunicator&& other) noexcept = default;
PendingCommunicator& PendingCommunicator::operator=(PendingCommunicator&& other) noexcept = default;
PendingCommunicator::~PendingCommunicator() = default;

absl::StatusOr<std::unique_ptr<Communicator>> PendingCommunicator::Wait() {
  return Wrap(split_->Await());
}

}  // namespace phalanx
