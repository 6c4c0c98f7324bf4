#include "communicator_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "device/reduce.h"
#include "phalanx/stream.h"
#include "session_state.h"

namespace phalanx::api {
namespace {

using plan::CollectiveKind;

absl::Status Wrong(const std::string& who, CollectiveKind kind, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(who, ", ", plan::NameOf(kind), ": ", what));
}

// Checks one side of an operation with unequal parts, completes its displacements and says how many
// elements the buffer must have.
absl::StatusOr<uint64_t> Complete(const Parts& parts, int size, const std::string& side,
                                  std::vector<uint64_t>* counts,
                                  std::vector<uint64_t>* displacements) {
  constexpr uint64_t kMaxElements = uint64_t{1} << 59;
  const auto ranks = static_cast<size_t>(size);
  if (parts.counts.size() != ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        parts.counts.size(), " ", side, " counts given, one a rank (", size, ") are needed"));
  }
  if (!parts.displacements.empty() && parts.displacements.size() != ranks) {
    return absl::InvalidArgumentError(absl::StrCat(parts.displacements.size(), " ", side,
                                                   " displacements given; give one a rank (", size,
                                                   ") or none"));
  }
  counts->assign(parts.counts.begin(), parts.counts.end());
  displacements->assign(parts.displacements.begin(), parts.displacements.end());
  uint64_t extent = 0;
  for (size_t i = 0; i < ranks; ++i) {
    if (parts.displacements.empty()) displacements->push_back(extent);
    if ((*counts)[i] > kMaxElements || (*displacements)[i] > kMaxElements) {
      return absl::InvalidArgumentError(
          absl::StrCat(side, " part ", i, " has a count or displacement that can't be meant"));
    }
    extent = std::max(extent, (*displacements)[i] + (*counts)[i]);
  }
  return extent;
}

// Parts of one buffer that is written may not overlap.
absl::Status CheckApart(const std::vector<uint64_t>& counts,
                        const std::vector<uint64_t>& displacements) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) ranges.emplace_back(displacements[i], displacements[i] + counts[i]);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) {
      return absl::InvalidArgumentError("two receive parts overlap");
    }
  }
  return absl::OkStatus();
}

}  // namespace

CommunicatorState::CommunicatorState(std::shared_ptr<SessionState> session,
                                     std::shared_ptr<engine::Channel> channel)
    : session_(std::move(session)), channel_(std::move(channel)) {}

CommunicatorState::~CommunicatorState() {
  if (fuser_ != nullptr) fuser_->Close();
  session_->engine().CloseChannel(channel_);
}

std::string CommunicatorState::Who() const {
  return absl::StrCat("rank ", rank(), ", communicator ", channel_->id().value);
}

absl::Status CommunicatorState::CheckOpen(const char* operation) const {
  if (session_->open()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Who(), ", ", operation, ": the session of this communicator is closed"));
}

engine::Request CommunicatorState::RequestFor(const Call& call, const OpOptions& options) const {
  engine::Request request;
  request.kind = call.kind;
  request.type = call.type;
  request.op = call.op;
  request.root_or_peer = call.root_or_peer;
  request.count = call.count;
  request.send = static_cast<const std::byte*>(call.send);
  request.receive = static_cast<std::byte*>(call.receive);
  request.stream = options.stream == nullptr ? nullptr : &options.stream->device_stream();
  request.timeout = options.timeout > std::chrono::nanoseconds::zero()
                        ? options.timeout
                        : session_->options().operation_timeout;
  request.file = options.call_site.file;
  request.line = options.call_site.line;
  return request;
}

absl::Status CommunicatorState::SetKey(const OpOptions& options, engine::Request* request) const {
  if (options.key.empty()) return absl::OkStatus();
  if (request->is_message()) {
    return Wrong(Who(), request->kind,
                 absl::StrCat("key \"", std::string(options.key),
                              "\" given, but messages take none: they pair up by their order "
                              "between two ranks; leave it out, or use a communicator of its own "
                              "for messages that may come in another order"));
  }
  constexpr std::string_view kReserved = "phalanx.";
  if (options.key.size() > fusion::kMaxKeyBytes || options.key.starts_with(kReserved)) {
    return Wrong(
        Who(), request->kind,
        absl::StrCat("key \"", std::string(options.key), "\" is longer than ", fusion::kMaxKeyBytes,
                     " bytes or begins with \"phalanx.\", which is "
                     "the library's own"));
  }
  const absl::StatusOr<engine::KeyedLane*> lane = channel_->LaneOfKey(options.key);
  if (!lane.ok()) return Wrong(Who(), request->kind, std::string(lane.status().message()));
  request->key = *lane;
  return absl::OkStatus();
}

absl::StatusOr<engine::Request> CommunicatorState::Prepare(const Call& call,
                                                           const Reduction& reduction,
                                                           const OpOptions& options) const {
  if (!session_->open()) return CheckOpen(plan::NameOf(call.kind));
  Call checked = call;
  checked.op = reduction.op();
  if (const absl::Status valid = Validate(checked, rank(), size()); !valid.ok()) {
    return absl::Status(valid.code(), absl::StrCat(Who(), ", ", valid.message()));
  }
  engine::Request request = RequestFor(checked, options);
  PHX_RETURN_IF_ERROR(SetKey(options, &request));
  request.factor = device::Factor::Of(reduction, call.type, size());
  return request;
}

absl::StatusOr<engine::Request> CommunicatorState::PrepareAllGather(
    const void* send, void* receive, const Parts& parts, DataType type,
    const OpOptions& options) const {
  const CollectiveKind kind = CollectiveKind::kAllGatherV;
  PHX_RETURN_IF_ERROR(CheckOpen(plan::NameOf(kind)));
  if (SizeOf(type) == 0) {
    return Wrong(Who(), kind, absl::StrCat("unknown data type ", static_cast<int>(type)));
  }
  auto collective = std::make_shared<plan::Collective>();
  collective->kind = kind;
  collective->type = type;
  const absl::StatusOr<uint64_t> extent = Complete(
      parts, size(), "receive", &collective->receive_counts, &collective->receive_displacements);
  if (!extent.ok()) return Wrong(Who(), kind, std::string(extent.status().message()));
  if (const absl::Status apart =
          CheckApart(collective->receive_counts, collective->receive_displacements);
      !apart.ok()) {
    return Wrong(Who(), kind, std::string(apart.message()));
  }
  const auto me = static_cast<size_t>(rank());
  collective->count = collective->receive_counts[me];
  const Call call{kind, send, receive, collective->count, type};
  const Extents extents{collective->count, *extent, collective->receive_displacements[me]};
  if (const absl::Status valid = ValidateBuffers(call, extents); !valid.ok()) {
    return absl::Status(valid.code(), absl::StrCat(Who(), ", ", valid.message()));
  }
  engine::Request request = RequestFor(call, options);
  PHX_RETURN_IF_ERROR(SetKey(options, &request));
  request.parts = std::move(collective);
  return request;
}

absl::StatusOr<engine::Request> CommunicatorState::PrepareAllToAll(
    const void* send, const Parts& send_parts, void* receive, const Parts& receive_parts,
    DataType type, const OpOptions& options) const {
  const CollectiveKind kind = CollectiveKind::kAllToAllV;
  PHX_RETURN_IF_ERROR(CheckOpen(plan::NameOf(kind)));
  if (SizeOf(type) == 0) {
    return Wrong(Who(), kind, absl::StrCat("unknown data type ", static_cast<int>(type)));
  }
  auto collective = std::make_shared<plan::Collective>();
  collective->kind = kind;
  collective->type = type;
  const absl::StatusOr<uint64_t> sent = Complete(
      send_parts, size(), "send", &collective->send_counts, &collective->send_displacements);
  if (!sent.ok()) return Wrong(Who(), kind, std::string(sent.status().message()));
  const absl::StatusOr<uint64_t> received =
      Complete(receive_parts, size(), "receive", &collective->receive_counts,
               &collective->receive_displacements);
  if (!received.ok()) return Wrong(Who(), kind, std::string(received.status().message()));
  absl::Status valid = CheckApart(collective->receive_counts, collective->receive_displacements);
  const auto me = static_cast<size_t>(rank());
  if (valid.ok() && collective->send_counts[me] != collective->receive_counts[me]) {
    valid = absl::InvalidArgumentError("this rank's parts to and from itself differ in count");
  }
  if (!valid.ok()) return Wrong(Who(), kind, std::string(valid.message()));
  const Call call{kind, send, receive, *sent, type};
  const Extents extents{*sent, *received, 0, /*may_be_in_place=*/false};
  if (valid = ValidateBuffers(call, extents); !valid.ok()) {
    return absl::Status(valid.code(), absl::StrCat(Who(), ", ", valid.message()));
  }
  engine::Request request = RequestFor(call, options);
  PHX_RETURN_IF_ERROR(SetKey(options, &request));
  request.parts = std::move(collective);
  return request;
}

engine::Operation* CommunicatorState::Issue(const engine::Request& request) {
  const Options& options = session_->options();
  if (request.key == nullptr || request.kind != CollectiveKind::kAllReduce ||
      options.fusion_threshold == 0) {
    return channel_->Issue(request);
  }
  std::call_once(fuser_made_, [&] {
    engine::KeyedLane* const lane = *channel_->LaneOfKey(kFusionKey);
    fuser_ = std::make_shared<Fuser>(
        channel_.get(), lane, &session_->engine(), &session_->fused(),
        Fuser::Limits{options.fusion_threshold, options.fusion_cycle_time}, session_->logger());
  });
  return fuser_->Issue(request);
}

}  // namespace phalanx::api
