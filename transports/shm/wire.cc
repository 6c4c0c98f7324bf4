#include "wire.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "futex.h"

namespace phalanx::shm {
namespace {

// Copied by one Progress() for one link: bounds how long the lock is held.
constexpr size_t kBudgetBytes = 1 << 20;
constexpr std::chrono::milliseconds kExitsEvery{20};
constexpr uint32_t kCallsPerClock = 64;
// Before sleeping: looks, then yields. A sleep and its wake-up cost 5 µs and more.
constexpr int kLooks = 64;
constexpr int kYields = 32;
constexpr std::chrono::microseconds kLongYield{200};
// A wake-up can be missed (see LinkState::Ring), so sleeps begin short and double up to 1 ms.
constexpr std::chrono::microseconds kFirstSleep{100};
constexpr int kSleepDoublings = 4;

// Reaching a peer needs its segment, not its address: it tells only whose wire this is.
struct Address {
  uint64_t magic;
  uint64_t incarnation;  // of the segment
};

}  // namespace

// What the caller owns.
class ShmWire::LinkHandle : public spi::Link {
 public:
  LinkHandle(ShmWire* wire, std::unique_ptr<LinkState> state)
      : wire_(wire), state_(std::move(state)) {}

  ~LinkHandle() override {
    const std::lock_guard<std::mutex> lock(wire_->mutex_);
    state_->Close();
    auto& links = wire_->links_;
    links.erase(std::remove(links.begin(), links.end(), state_.get()), links.end());
  }

  void Send(const spi::Label& label, absl::Span<const std::byte> bytes,
            spi::Transfer* transfer) override {
    const std::lock_guard<std::mutex> lock(wire_->mutex_);
    state_->Send(label, bytes, transfer);
  }

  void Receive(const spi::Label& label, absl::Span<std::byte> bytes,
               spi::Transfer* transfer) override {
    const std::lock_guard<std::mutex> lock(wire_->mutex_);
    state_->Receive(label, bytes, transfer);
  }

 private:
  ShmWire* const wire_;
  const std::unique_ptr<LinkState> state_;
};

absl::StatusOr<std::unique_ptr<ShmWire>> ShmWire::Create(std::shared_ptr<Node> node) {
  PHX_ASSIGN_OR_RETURN(std::byte * memory, node->segment().Allocate(sizeof(WireArea), true));
  auto* const area = new (memory) WireArea();
  node->segment().header().wire_area.store(node->segment().OffsetOf(area),
                                           std::memory_order_release);
  return std::unique_ptr<ShmWire>(new ShmWire(std::move(node), area));
}

ShmWire::ShmWire(std::shared_ptr<Node> node, WireArea* area)
    : node_(std::move(node)), area_(area), looked_for_exits_at_(Clock::now()) {
  const Address address{kSegmentMagic, node_->incarnation().value};
  address_.assign(reinterpret_cast<const char*>(&address), sizeof(address));
}

ShmWire::~ShmWire() { PHX_CHECK_MSG(links_.empty(), "a link outlives its wire"); }

void ShmWire::SetIdentity(const spi::Identity& identity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  PHX_CHECK_MSG(!identified_, "SetIdentity is called once");
  identified_ = true;
  identity_ = identity;
  area_->rank = identity.rank;
  area_->job_token = identity.job_token;
  area_->epoch = identity.epoch.value;
  area_->incarnation = identity.incarnation.value;
  area_->known.store(1, std::memory_order_release);
}

absl::StatusOr<std::unique_ptr<spi::Link>> ShmWire::Connect(const spi::PeerIdentity& peer,
                                                            const std::string& address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Address parsed;
  if (address.size() != sizeof(parsed)) {
    return absl::InvalidArgumentError(
        absl::StrCat("shm: rank ", peer.rank, "'s address isn't one of shared memory"));
  }
  std::memcpy(&parsed, address.data(), sizeof(parsed));
  const PeerSegment* const segment =
      identified_ && node_->attached() ? node_->peer(peer.rank) : nullptr;
  if (segment == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("shm: rank ", peer.rank,
                     " isn't attached; set the identity and attach this node's peers first"));
  }
  if (parsed.magic != kSegmentMagic || parsed.incarnation != segment->incarnation().value) {
    return absl::FailedPreconditionError(
        absl::StrCat("shm: rank ", peer.rank, "'s address is that of another process than the one ",
                     "attached; the view has changed"));
  }
  PHX_ASSIGN_OR_RETURN(LinkArea* const area, Announce(*segment));
  auto state = std::make_unique<LinkState>(
      LinkState::Options{&node_->segment(), node_->incarnation(), area, segment, identity_, peer});
  if (!aborted_.ok()) state->Break(aborted_);
  links_.push_back(state.get());
  return std::make_unique<LinkHandle>(this, std::move(state));
}

absl::StatusOr<LinkArea*> ShmWire::Announce(const PeerSegment& peer) {
  for (uint32_t i = 0; i < announced_; ++i) {
    if (area_->links[i].peer_incarnation == peer.incarnation().value) {
      return absl::FailedPreconditionError(
          absl::StrCat("shm: rank ", peer.rank(), " has been connected already"));
    }
  }
  if (announced_ == kMaxLinks) {
    return absl::ResourceExhaustedError(
        absl::StrCat("shm: more than ", kMaxLinks, " links of one session"));
  }
  PHX_ASSIGN_OR_RETURN(std::byte * memory, node_->segment().Allocate(sizeof(LinkArea), true));
  auto* const area = new (memory) LinkArea;
  area->reads_private_memory.store(peer.reads_private_memory() ? 1 : 0);
  WireArea::Entry& entry = area_->links[announced_++];
  entry.peer_incarnation = peer.incarnation().value;
  entry.offset.store(node_->segment().OffsetOf(area), std::memory_order_seq_cst);
  return area;
}

bool ShmWire::Progress() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  bool moved = false;
  for (LinkState* link : links_) moved |= link->Progress(kBudgetBytes);
  if (moved) idle_sleeps_.store(0, std::memory_order_relaxed);
  if (++progress_calls_ % kCallsPerClock == 0) LookForExits();
  return moved;
}

void ShmWire::LookForExits() {
  const Clock::time_point now = Clock::now();
  if (now - looked_for_exits_at_ < kExitsEvery) return;
  looked_for_exits_at_ = now;
  for (LinkState* link : links_) {
    if (!link->ended() && !link->peer().Alive()) link->PeerExited();
  }
}

bool ShmWire::HasNews() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // that thread does the work
  return std::any_of(links_.begin(), links_.end(),
                     [](const LinkState* link) { return link->HasNews(); });
}

void ShmWire::Wait(Clock::duration timeout) {
  for (int i = 0; i < kLooks; ++i) {
    if (wake_up_.exchange(false) || HasNews()) return;
  }
  Clock::time_point before = Clock::now();
  for (int i = 0; i < kYields; ++i) {
    sched_yield();
    if (wake_up_.exchange(false) || HasNews()) return;
    const Clock::time_point after = Clock::now();
    if (after - before > kLongYield) break;  // strangers have the core: be woken ahead of them
    before = after;
  }
  if (timeout > Clock::duration::zero()) Sleep(timeout);
}

void ShmWire::Sleep(Clock::duration timeout) {
  const int sleeps = std::min(idle_sleeps_.fetch_add(1), kSleepDoublings);
  const Clock::duration limit =
      std::min<Clock::duration>(kFirstSleep * (1 << sleeps), kLongestSleep);
  area_->parked.store(1, std::memory_order_seq_cst);
  if (!wake_up_.load() && !HasNews()) {
    FutexWait(area_->parked, 1, std::min(timeout, limit));
  }
  area_->parked.store(0, std::memory_order_seq_cst);
  wake_up_.store(false);
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) LookForExits();
}

void ShmWire::WakeUp() {
  wake_up_.store(true);
  area_->parked.store(0, std::memory_order_seq_cst);
  FutexWakeAll(area_->parked);
}

void ShmWire::Abort(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!aborted_.ok()) return;
  aborted_ = status;
  for (LinkState* link : links_) link->Break(status);
}

absl::Status ShmWire::Close(Deadline) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (LinkState* link : links_) link->Close();
  return absl::OkStatus();
}

}  // namespace phalanx::shm
