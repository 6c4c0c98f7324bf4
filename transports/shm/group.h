// One communicator's group over shared memory.
#ifndef PHALANX_SHM_GROUP_H_
#define PHALANX_SHM_GROUP_H_

#include <array>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "group_block.h"
#include "node.h"
#include "spi/group.h"

namespace phalanx::shm {

class ShmGroup : public spi::GroupTransport {
 public:
  struct Member {
    int rank = -1;  // in the view
    uint64_t life = 0;
    const GroupBlock* block = nullptr;
    const PeerSegment* segment = nullptr;  // null for ourselves
    // What we have seen of it; both only ever lag behind the truth.
    std::array<uint32_t, spi::kMaxSignals> seen{};
    uint32_t entered = kFirstCount;
  };
  struct Options {
    std::shared_ptr<Node> node;
    std::vector<Member> members;  // in group order
    int rank = 0;
    GroupBlock* own = nullptr;
    bool oversubscribed = false;
  };

  explicit ShmGroup(Options options);
  ~ShmGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  absl::Status Begin(const spi::GroupOperation& operation) override;
  std::byte* scratch() override { return scratch_; }
  bool TryPublish(const spi::Publish& publish) override;
  void Raise(uint8_t signal, uint32_t round) override { RaiseTo(signal, AbsoluteRound(round) + 1); }
  bool Reached(int peer, uint8_t signal, uint32_t round) override;
  absl::StatusOr<const std::byte*> Read(int peer, Region region, size_t offset, size_t bytes,
                                        uint32_t round, std::byte* tile) override;
  absl::Status ReadInto(int peer, Region region, size_t offset, size_t bytes, uint32_t round,
                        std::byte* destination) override;
  uint64_t factor_bits(int peer) override;
  absl::Status CheckMembers() override;
  absl::Status End() override;
  void Withdraw() override;
  void Wait(int peer, uint8_t signal, uint32_t round, Clock::duration timeout) override;
  void WaitToPublish(const spi::Publish& publish, Clock::duration timeout) override;
  void Abort() override;

 private:
  // Where bytes of a peer are.
  struct Place {
    const std::byte* mapped = nullptr;
    uint64_t address = 0;  // private memory, if not mapped
  };
  // A copy of private memory for readers who can't reach it.
  struct Window {
    std::byte* memory = nullptr;
    size_t chunk_bytes = 0;
    uint32_t chunks = 0;
  };

  uint32_t AbsoluteRound(uint32_t round) const { return base_ + round; }
  void RefreshCounters();
  void ShowCheck();
  bool EveryPeerEntered(uint32_t operation);
  bool EveryPeerReached(uint8_t signal, uint32_t round);
  bool Describe();
  bool LearnsWhatPeersRead();
  void DescribeRegion(Region region, const std::byte* memory, size_t bytes, OperationSlot* slot);
  OperationSlot& OwnSlot() { return own_->slots[operation_ % kOperationSlots]; }
  const OperationSlot& SlotOf(int peer) const {
    return members_[static_cast<size_t>(peer)].block->slots[operation_ % kOperationSlots];
  }
  std::pair<const std::byte*, size_t> OwnRegion(Region region) const;
  // The ranges that lie inside the region.
  PackedRanges RangesOf(const spi::Publish& publish) const;
  size_t PackedBytes(const PackedRanges& ranges, Region region) const;
  void Pack(const PackedRanges& ranges, Region region, std::byte* destination) const;

  void Stage(const spi::Publish& publish);
  bool TryFillWindow(const spi::Publish& publish);
  bool TryGrowWindow(const spi::Publish& publish, size_t chunk_bytes);
  void Close();
  void RaiseTo(int signal, uint32_t target);
  void WakePeers(int signal, bool entering);

  absl::StatusOr<Place> Find(int peer, Region region, size_t offset, size_t bytes, uint32_t round);
  const std::byte* FindStaged(const OperationSlot& slot, Region region, size_t offset, size_t bytes,
                              uint32_t round) const;
  const std::byte* FindInWindow(const Member& member, Region region, size_t offset, size_t bytes,
                                uint32_t round) const;

  uint32_t LoadWord(const Member& member, int word) const;
  void WaitForWord(int peer, int word, uint32_t target, Clock::duration timeout);
  // False when it is time to sleep.
  template <typename Done>
  bool YieldUntil(const Done& done);
  void Park(int peer, int word, uint32_t target, Clock::duration timeout);

  const std::shared_ptr<Node> node_;
  const int rank_;
  const bool oversubscribed_;
  // Kinds of memory: whether every member can read every other's private memory, as soon as all of
  // them have attached and said so.
  Reads private_memory_reads_ = Reads::kUnknown;
  GroupBlock* const own_;
  std::vector<Member> members_;

  // The operation in progress.
  bool open_ = false;
  bool entered_ = false;    // told the peers
  bool shown_ = false;      // what it is
  bool described_ = false;  // its slot is filled
  bool read_in_place_ = false;
  spi::GroupOperation current_;
  uint32_t operation_ = kFirstCount;  // its number, as counted here
  uint32_t base_ = kFirstCount;       // signals stood here when it began
  uint32_t next_base_ = kFirstCount;
  size_t staged_bytes_ = 0;
  std::array<uint32_t, spi::kMaxSignals> raised_;  // where our signals stand

  std::byte* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;
  std::array<Window, kRegionCount> windows_;
  bool window_refused_ = false;  // logged

  int waits_without_yield_ = 0;
  std::atomic<bool> aborted_{false};
  std::atomic<uint32_t> reads_ended_{0};  // orders our reads before a look at `withdrawn`
  std::atomic<const std::atomic<uint32_t>*> sleeping_on_{nullptr};
};

}  // namespace phalanx::shm

#endif  // PHALANX_SHM_GROUP_H_
