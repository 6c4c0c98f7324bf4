#include "domain.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::shm {
namespace {

absl::Status BadGroup(CommunicatorId id, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("shared memory, communicator ", id.value, ": ",
                                                 why, "; all members must prepare and open alike"));
}

// What a member told us, or why it can't be used.
absl::StatusOr<PreparedBlock> Parse(CommunicatorId id, int rank, const std::string& prepared,
                                    size_t size) {
  PreparedBlock block;
  if (prepared.size() != sizeof(block)) {
    return BadGroup(id, absl::StrCat("rank ", rank, "'s part has ", prepared.size(), " bytes"));
  }
  std::memcpy(&block, prepared.data(), sizeof(block));
  if (block.size != size) {
    return BadGroup(id, absl::StrCat("rank ", rank, " prepared a group of ", block.size,
                                     " members, not ", size));
  }
  return block;
}

}  // namespace

absl::StatusOr<void*> ShmDomain::Allocate(size_t bytes) {
  PHX_ASSIGN_OR_RETURN(std::byte * memory, node_->segment().Allocate(bytes, /*zeroed=*/true));
  return memory;
}

absl::StatusOr<std::string> ShmDomain::PrepareGroup(int size) {
  if (size < 1) return absl::InvalidArgumentError(absl::StrCat("a group of ", size, " members"));
  node_->FreeRetired();
  PHX_ASSIGN_OR_RETURN(std::byte * memory, node_->segment().Allocate(sizeof(GroupBlock), true));
  auto* const block = new (memory) GroupBlock;
  for (std::atomic<uint32_t>& word : block->words) word.store(kFirstCount);
  PreparedBlock prepared{};
  prepared.offset = node_->segment().OffsetOf(block);
  prepared.life = node_->NewLife();
  prepared.incarnation = node_->incarnation().value;
  prepared.size = static_cast<uint32_t>(size);
  block->life.store(prepared.life, std::memory_order_release);
  const std::lock_guard<std::mutex> lock(mutex_);
  prepared_.emplace(prepared.life, block);
  return std::string(reinterpret_cast<const char*>(&prepared), sizeof(prepared));
}

absl::StatusOr<std::unique_ptr<spi::GroupTransport>> ShmDomain::OpenGroup(
    CommunicatorId id, absl::Span<const int> ranks, absl::Span<const std::string> prepared,
    bool oversubscribed) {
  if (!node_->attached()) {
    return absl::FailedPreconditionError("shared memory: attach the peers before opening a group");
  }
  if (prepared.size() != ranks.size()) {
    return BadGroup(id, absl::StrCat(prepared.size(), " parts for ", ranks.size(), " members"));
  }
  const auto own = std::find(ranks.begin(), ranks.end(), node_->own_rank());
  if (own == ranks.end()) {
    return BadGroup(id, absl::StrCat("rank ", node_->own_rank(), " isn't a member"));
  }
  ShmGroup::Options options;
  options.node = node_;
  options.rank = static_cast<int>(own - ranks.begin());
  options.oversubscribed = oversubscribed;
  uint64_t own_life = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    PHX_ASSIGN_OR_RETURN(const PreparedBlock part, Parse(id, ranks[i], prepared[i], ranks.size()));
    ShmGroup::Member member;
    member.rank = ranks[i];
    member.life = part.life;
    if (ranks[i] == node_->own_rank()) {
      own_life = part.life;
    } else {
      PHX_RETURN_IF_ERROR(FindPeerBlock(id, part, &member));
    }
    options.members.push_back(member);
  }
  options.own = TakePrepared(own_life);
  if (options.own == nullptr) return BadGroup(id, "our own part isn't one that we prepared");
  options.members[static_cast<size_t>(options.rank)].block = options.own;
  return std::make_unique<ShmGroup>(std::move(options));
}

GroupBlock* ShmDomain::TakePrepared(uint64_t life) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = prepared_.find(life);
  if (found == prepared_.end()) return nullptr;
  GroupBlock* const block = found->second;
  prepared_.erase(found);
  return block;
}

absl::Status ShmDomain::FindPeerBlock(CommunicatorId id, const PreparedBlock& part,
                                      ShmGroup::Member* member) const {
  member->segment = node_->peer(member->rank);
  if (member->segment == nullptr) {
    return BadGroup(id, absl::StrCat("rank ", member->rank, " isn't attached on this node"));
  }
  const std::byte* const memory = member->segment->At(part.offset, sizeof(GroupBlock));
  if (part.incarnation != member->segment->incarnation().value || memory == nullptr ||
      part.offset % alignof(GroupBlock) != 0) {
    return BadGroup(id, absl::StrCat("rank ", member->rank, "'s part is another process's"));
  }
  member->block = reinterpret_cast<const GroupBlock*>(memory);
  return absl::OkStatus();
}

}  // namespace phalanx::shm
