#include "engine/stream_units.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace phalanx::engine {
namespace {

struct Part {
  std::shared_ptr<const device::Event> end;
  const std::byte* begin = nullptr;
  size_t bytes = 0;
  bool writes = false;

  static Part Of(const Operation& message, std::shared_ptr<const device::Event> end) {
    const Request& request = message.request();
    const bool writes = request.kind == plan::CollectiveKind::kReceive;
    return {std::move(end), writes ? request.receive : request.send,
            static_cast<size_t>(request.count) * SizeOf(request.type), writes};
  }
  bool ConflictsWith(const Part& other) const {
    return (writes || other.writes) && begin < other.begin + other.bytes &&
           other.begin < begin + bytes;
  }
};

}  // namespace

class StreamUnits::Unit {
 public:
  Unit(Operation* first, Part part) : waiting_{first}, parts_{std::move(part)} {}

  // Reached together with the rest, perhaps now. False if it has to come after something.
  bool Add(Operation* operation, const Part& part, const ReachedCallback& reached) {
    {
      const std::lock_guard lock(mutex_);
      parts_.erase(std::remove_if(parts_.begin(), parts_.end(),
                                  [](const Part& old) { return old.end->Happened(); }),
                   parts_.end());
      const auto conflicts = [&](const Part& old) { return part.ConflictsWith(old); };
      if (parts_.empty() || std::any_of(parts_.begin(), parts_.end(), conflicts)) return false;
      parts_.push_back(part);
      if (!reached_) {
        waiting_.push_back(operation);
        return true;
      }
    }
    reached(operation);
    return true;
  }

  void Reach(const ReachedCallback& reached) {
    std::vector<Operation*> waiting;
    {
      const std::lock_guard lock(mutex_);
      reached_ = true;
      waiting.swap(waiting_);
    }
    for (Operation* operation : waiting) reached(operation);
  }

 private:
  std::mutex mutex_;
  bool reached_ = false;
  std::vector<Operation*> waiting_;
  std::vector<Part> parts_;  // those that had not ended at the last look
};

absl::StatusOr<bool> StreamUnits::Queue(Operation* operation,
                                        const std::shared_ptr<device::ManualEvent>& end,
                                        const ReachedCallback& reached) {
  const Request& request = operation->request();
  device::Stream& stream = *request.stream;
  if (!request.is_message() || !request.stream_waits) {
    PHX_RETURN_IF_ERROR(stream.Enqueue([operation, reached] { reached(operation); }));
    if (request.stream_waits) PHX_RETURN_IF_ERROR(stream.WaitFor(end));
    return false;
  }
  const Part part = Part::Of(*operation, end);
  const std::lock_guard lock(mutex_);
  Last& last = last_[&stream];
  const bool joins = last.unit != nullptr && last.position == stream.Position() &&
                     last.unit->Add(operation, part, reached);
  if (!joins) {
    last.unit = std::make_shared<Unit>(operation, part);
    PHX_RETURN_IF_ERROR(stream.Enqueue([unit = last.unit, reached] { unit->Reach(reached); }));
  }
  PHX_RETURN_IF_ERROR(stream.WaitFor(end));
  last.position = stream.Position();
  return joins;
}

}  // namespace phalanx::engine
