#include "group.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "spi/link.h"

namespace phalanx::sim {
namespace {

constexpr std::byte kUnwritten{0xCD};    // scratch that nobody has written
constexpr std::byte kUnpublished{0xA5};  // what a forbidden read gives
// A member that runs ahead finds a staged slot free when all others have ended the operation before
// the last.
constexpr uint64_t kStagedSlots = 2;
constexpr size_t kMostBytes = size_t{1} << 40;
constexpr size_t kAlignment = 4096;

size_t RegionBytes(const Part& part, Region region) {
  switch (region) {
    case Region::kInput:
      return part.operation.input_bytes;
    case Region::kOutput:
      return part.operation.output_bytes;
    case Region::kScratch:
      return part.scratch.size();
  }
  return 0;
}

const std::byte* RegionOf(const Part& part, Region region) {
  switch (region) {
    case Region::kInput:
      return part.operation.input;
    case Region::kOutput:
      return part.operation.output;
    case Region::kScratch:
      return part.scratch.data();
  }
  return nullptr;
}

// Whether one of the publication's ranges holds all of [offset, offset + bytes).
bool Covers(const Published& published, size_t offset, size_t bytes) {
  if (bytes == 0) return true;
  const spi::Publish& publish = published.publish;
  for (uint32_t i = 0; i < publish.ranges; ++i) {
    const size_t begin = publish.offset + i * publish.stride;
    if (offset >= begin && offset + bytes <= begin + publish.bytes) {
      return offset + bytes <= publish.offset + published.bytes.size();
    }
  }
  return false;
}

absl::Status Exhausted(size_t bytes) {
  return absl::ResourceExhaustedError(absl::StrCat("there aren't ", bytes, " bytes left"));
}

class SimGroup : public spi::GroupTransport {
 public:
  SimGroup(Core* core, std::shared_ptr<GroupState> state, int rank)
      : core_(core), state_(std::move(state)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(state_->members.size()); }
  absl::Status Begin(const spi::GroupOperation& operation) override;
  std::byte* scratch() override {
    const Core::Lock lock(core_->mutex());
    return own().scratch.data();
  }
  bool TryPublish(const spi::Publish& publish) override;
  void Raise(uint8_t signal, uint32_t round) override;
  bool Reached(int peer, uint8_t signal, uint32_t round) override;
  absl::StatusOr<const std::byte*> Read(int peer, Region region, size_t offset, size_t bytes,
                                        uint32_t round, std::byte* tile) override;
  absl::Status ReadInto(int peer, Region region, size_t offset, size_t bytes, uint32_t round,
                        std::byte* destination) override;
  uint64_t factor_bits(int peer) override;
  absl::Status CheckMembers() override;
  absl::Status End() override;
  void Withdraw() override;
  void Wait(int, uint8_t, uint32_t, Clock::duration timeout) override { Pause(timeout); }
  void WaitToPublish(const spi::Publish&, Clock::duration timeout) override { Pause(timeout); }
  void Abort() override {
    aborted_.store(true);
    core_->Changed();
  }

 private:
  Member& member() { return state_->members[rank_]; }
  Part& own() {
    PHX_CHECK_MSG(open_, "a group was used outside Begin() and End()");
    return member().parts[sequence_];
  }
  void Pause(Clock::duration timeout) {
    if (!aborted_.load()) core_->StepOrWait(timeout);
  }
  bool MustWait(const spi::Publish& publish);
  // Lets every other member see `change`, each at its own time.
  void Show(const std::function<void(Seen*)>& change);
  void Violation(const std::string& text) {
    core_->Violation(absl::StrCat("rank ", rank_, ", operation ", sequence_, ": ", text));
  }
  void Close();
  // The bytes, or null and a violation; null alone if they were withdrawn.
  const std::byte* Find(int peer, Region region, size_t offset, size_t bytes, uint32_t round);
  absl::Status CheckPeer(int peer);

  Core* const core_;
  const std::shared_ptr<GroupState> state_;
  const int rank_;
  std::atomic<bool> aborted_{false};
  bool open_ = false;
  bool read_in_place_ = false;
  uint64_t sequence_ = 0;
};

absl::Status SimGroup::Begin(const spi::GroupOperation& operation) {
  const Core::Lock lock(core_->mutex());
  PHX_CHECK_MSG(!open_, "Begin() before the End() of the operation before");
  if (operation.scratch_bytes > kMostBytes) return Exhausted(operation.scratch_bytes);
  PHX_CHECK_MSG(member().begun == 0 || operation.sequence == sequence_ + 1,
                "the sequence rises by one");
  open_ = true;
  read_in_place_ = false;
  sequence_ = operation.sequence;
  ++member().begun;
  Part& part = own();
  part.operation = operation;
  part.scratch.assign(operation.scratch_bytes, kUnwritten);
  for (const Member& other : state_->members) {
    const auto found = other.parts.find(sequence_);
    if (found != other.parts.end() && found->second.operation.rounds != operation.rounds) {
      Violation("members differ in the number of rounds");
    }
  }
  return absl::OkStatus();
}

bool SimGroup::MustWait(const spi::Publish& publish) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    Seen& seen = state_->seen[rank_][peer];
    if (publish.publication == spi::Publication::kStaged) {
      if (seen.ended + kStagedSlots < member().begun) return true;
    } else if (core_->options().copy_windows > 0 &&
               publish.round >= core_->options().copy_windows) {
      const uint32_t reused = publish.round - core_->options().copy_windows;
      if (seen.signals[sequence_][publish.acknowledged] < reused + 1) return true;
    }
  }
  return false;
}

bool SimGroup::TryPublish(const spi::Publish& publish) {
  const Core::Lock lock(core_->mutex());
  if (core_->OneIn(core_->options().refuses_one_in)) {
    core_->After(core_->Delay(), [] {});  // it will be tried again
    return false;
  }
  if (MustWait(publish)) return false;
  Part& part = own();
  Published published;
  published.publish = publish;
  published.live = RegionOf(part, publish.region);
  const size_t limit = RegionBytes(part, publish.region);
  const size_t end =
      std::min(limit, publish.offset + (publish.ranges - 1) * publish.stride + publish.bytes);
  if (publish.offset > limit) Violation("a publication begins past the end of its region");
  if (publish.offset < end) {
    published.bytes.assign(published.live + publish.offset, published.live + end);
  }
  for (const Published& other : part.published) {
    if (other.publish.region == publish.region && other.publish.round == publish.round) {
      Violation("a region was published twice in a round");
    }
  }
  if (publish.publication == spi::Publication::kStaged) {
    part.staged_bytes += published.bytes.size();
    if (part.staged_bytes > spi::kMaxStagedBytes) Violation("more was staged than there is room");
  }
  part.published.push_back(std::move(published));
  Raise(publish.signal, publish.round);
  return true;
}

void SimGroup::Show(const std::function<void(Seen*)>& change) {
  if (core_->Dead(member().rank)) return;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    Seen& seen = state_->seen[peer][rank_];
    if (core_->options().most_delay.count() == 0) {
      change(&seen);
      core_->Changed();
      continue;
    }
    seen.last = std::max(seen.last, core_->now() + core_->Delay());
    core_->At(seen.last, [state = state_, &seen, change] { change(&seen); });
  }
}

void SimGroup::Raise(uint8_t signal, uint32_t round) {
  const Core::Lock lock(core_->mutex());
  Part& part = own();
  PHX_CHECK(signal < spi::kMaxSignals);
  if (round >= part.operation.rounds) Violation("a signal was raised past the last round");
  if (part.raised[signal] > round) {
    Violation(absl::StrCat("signal ", int{signal}, " was raised from ", part.raised[signal], " to ",
                           round + 1));
  }
  part.raised[signal] = round + 1;
  Show([sequence = sequence_, signal, round](Seen* seen) {
    seen->signals[sequence][signal] = round + 1;
  });
}

bool SimGroup::Reached(int peer, uint8_t signal, uint32_t round) {
  const Core::Lock lock(core_->mutex());
  if (peer == rank_) return own().raised[signal] > round;
  return state_->seen[rank_][peer].signals[sequence_][signal] > round;
}

absl::Status SimGroup::CheckPeer(int peer) {
  const Member& other = state_->members[peer];
  if (core_->KnownDead(other.rank)) {
    return absl::UnavailableError(absl::StrCat("rank ", other.rank, " is gone"));
  }
  const auto part = other.parts.find(sequence_);
  const bool same =
      part == other.parts.end() || part->second.operation.check == own().operation.check;
  return same ? absl::OkStatus() : spi::OtherOperation(other.rank);
}

absl::Status SimGroup::CheckMembers() {
  const Core::Lock lock(core_->mutex());
  for (int peer = 0; peer < size(); ++peer) {
    const absl::Status same = CheckPeer(peer);
    if (absl::IsInvalidArgument(same)) return same;
  }
  return absl::OkStatus();
}

const std::byte* SimGroup::Find(int peer, Region region, size_t offset, size_t bytes,
                                uint32_t round) {
  const auto part = state_->members[peer].parts.find(sequence_);
  if (peer == rank_ || part == state_->members[peer].parts.end()) {
    Violation(absl::StrCat("read from rank ", peer, ", which has nothing of this operation"));
    return nullptr;
  }
  const std::string what =
      absl::StrCat("round ", round, ", rank ", peer, "'s region ", static_cast<int>(region),
                   " from ", offset, " to ", offset + bytes);
  for (const Published& published : part->second.published) {
    const spi::Publish& publish = published.publish;
    if (publish.region != region || publish.round != round || !Covers(published, offset, bytes)) {
      continue;
    }
    if (!Reached(peer, publish.signal, round)) {
      Violation(absl::StrCat("read before the signal was seen: ", what));
      return nullptr;
    }
    if (bytes == 0) return published.live;
    const std::byte* const then = published.bytes.data() + (offset - publish.offset);
    if (publish.publication == spi::Publication::kStaged) return then;
    if (own().raised[publish.acknowledged] > round) {
      Violation(absl::StrCat("read after the acknowledgement: ", what));
    }
    read_in_place_ = true;
    if (core_->options().copy_windows > 0) return then;
    if (state_->members[peer].withdrawn) return nullptr;
    if (part->second.ended) {
      Violation(absl::StrCat("read after the owner's end: ", what));
      return nullptr;
    }
    if (std::memcmp(published.live + offset, then, bytes) != 0) {
      Violation(absl::StrCat("changed while published: ", what));
    }
    return published.live + offset;
  }
  Violation(absl::StrCat("read what isn't published: ", what));
  return nullptr;
}

absl::StatusOr<const std::byte*> SimGroup::Read(int peer, Region region, size_t offset,
                                                size_t bytes, uint32_t round, std::byte* tile) {
  const Core::Lock lock(core_->mutex());
  if (core_->OneIn(2)) {
    const absl::Status status = ReadInto(peer, region, offset, bytes, round, tile);
    if (!status.ok()) return status;
    return tile;
  }
  const absl::Status alive = CheckPeer(peer);
  if (!alive.ok()) return alive;
  const std::byte* const found = Find(peer, region, offset, bytes, round);
  if (found != nullptr) return found;
  std::fill_n(tile, bytes, kUnpublished);
  return tile;
}

absl::Status SimGroup::ReadInto(int peer, Region region, size_t offset, size_t bytes,
                                uint32_t round, std::byte* destination) {
  const Core::Lock lock(core_->mutex());
  const absl::Status alive = CheckPeer(peer);
  if (!alive.ok()) return alive;
  const std::byte* const found = Find(peer, region, offset, bytes, round);
  if (found == nullptr) {
    std::fill_n(destination, bytes, kUnpublished);
  } else {
    std::copy_n(found, bytes, destination);
  }
  return absl::OkStatus();
}

uint64_t SimGroup::factor_bits(int peer) {
  const Core::Lock lock(core_->mutex());
  const Signals& seen = state_->seen[rank_][peer].signals[sequence_];
  if (std::all_of(seen.begin(), seen.end(), [](uint32_t value) { return value == 0; })) {
    Violation(absl::StrCat("rank ", peer, "'s factor was read before any signal of it"));
  }
  return state_->members[peer].parts[sequence_].operation.factor_bits;
}

absl::Status SimGroup::End() {
  const Core::Lock lock(core_->mutex());
  Close();
  if (!read_in_place_) return absl::OkStatus();
  for (const Member& other : state_->members) {
    if (!other.withdrawn) continue;
    return absl::AbortedError(absl::StrCat("rank ", other.rank, " gave up the operation"));
  }
  return absl::OkStatus();
}

void SimGroup::Withdraw() {
  const Core::Lock lock(core_->mutex());
  member().withdrawn = true;
  Close();
}

void SimGroup::Close() {
  own().ended = true;
  open_ = false;
  const uint64_t ended = ++member().ended;
  Show([ended](Seen* seen) { seen->ended = ended; });
  uint64_t all_ended = ended;
  for (const Member& other : state_->members) all_ended = std::min(all_ended, other.ended);
  for (Member& other : state_->members) {
    while (other.parts.size() > other.begun - all_ended) other.parts.erase(other.parts.begin());
  }
}

class SimDomain : public spi::GroupDomain {
 public:
  explicit SimDomain(Core* core) : core_(core) {}
  ~SimDomain() override {
    for (void* memory : allocated_) ::operator delete (memory, std::align_val_t{kAlignment});
  }

  int segment_fd() const override { return -1; }
  absl::Status Attach(int own_rank, absl::Span<const spi::NodePeer>) override {
    rank_ = own_rank;
    return absl::OkStatus();
  }
  absl::StatusOr<void*> Allocate(size_t bytes) override;
  void Free(void* memory) override;
  absl::StatusOr<std::string> PrepareGroup(int size) override;
  absl::StatusOr<std::unique_ptr<spi::GroupTransport>> OpenGroup(
      CommunicatorId id, absl::Span<const int> ranks, absl::Span<const std::string> prepared,
      bool oversubscribed) override;

 private:
  Core* const core_;
  int rank_ = -1;
  std::set<void*> allocated_;
};

absl::StatusOr<void*> SimDomain::Allocate(size_t bytes) {
  const Core::Lock lock(core_->mutex());
  if (bytes > kMostBytes) return Exhausted(bytes);
  void* const memory = ::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) return Exhausted(bytes);
  std::memset(memory, 0, bytes);
  allocated_.insert(memory);
  return memory;
}

void SimDomain::Free(void* memory) {
  const Core::Lock lock(core_->mutex());
  PHX_CHECK_MSG(allocated_.erase(memory) == 1, "Free() of what wasn't allocated");
  ::operator delete (memory, std::align_val_t{kAlignment});
}

// What a member says of itself: its rank, the group's size, and a number of its own.
std::string PreparedBy(int rank, int size, absl::string_view number) {
  return absl::StrCat("sim:", rank, ":", size, ":", number);
}

absl::StatusOr<std::string> SimDomain::PrepareGroup(int size) {
  const Core::Lock lock(core_->mutex());
  return PreparedBy(rank_, size, absl::StrCat(core_->PrepareGroup()));
}

absl::StatusOr<std::unique_ptr<spi::GroupTransport>> SimDomain::OpenGroup(
    CommunicatorId, absl::Span<const int> ranks, absl::Span<const std::string> prepared, bool) {
  const Core::Lock lock(core_->mutex());
  const int size = static_cast<int>(ranks.size());
  const auto own = std::find(ranks.begin(), ranks.end(), rank_);
  if (prepared.size() != ranks.size() || own == ranks.end()) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank_, " opens a group of ", size,
                                                   " with ", prepared.size(),
                                                   " prepared parts, or isn't in it"));
  }
  std::string key;
  for (size_t i = 0; i < prepared.size(); ++i) {
    if (!absl::StartsWith(prepared[i], PreparedBy(ranks[i], size, ""))) {
      return absl::InvalidArgumentError(absl::StrCat("'", prepared[i], "' isn't what rank ",
                                                     ranks[i], " prepared for this group"));
    }
    absl::StrAppend(&key, prepared[i], "/");
  }
  const std::shared_ptr<GroupState> state = core_->FindGroup(key, size);
  const int member = static_cast<int>(own - ranks.begin());
  if (std::exchange(state->members[member].opened, true)) {
    return absl::AlreadyExistsError(absl::StrCat("rank ", rank_, " opened the group before"));
  }
  state->members[member].rank = rank_;
  return std::make_unique<SimGroup>(core_, state, member);
}

}  // namespace

std::unique_ptr<spi::GroupDomain> OpenDomain(Core* core) {
  return std::make_unique<SimDomain>(core);
}

}  // namespace phalanx::sim
