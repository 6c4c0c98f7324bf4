#include "split.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "session_state.h"
#include "work_access.h"

namespace phalanx::api {
namespace {

// A member's contributions to a split; equal on all machines of a job, which share a byte order.
struct SplitEntry {
  int32_t color;
  int32_t key;
};
struct PreparedEntry {
  uint32_t first_communicator;  // member 0's; 0: it got none
  uint32_t bytes;               // kFailed: this member has no part in the group's memory
  std::array<char, 64> data;
};
constexpr uint32_t kFailed = UINT32_MAX;

// Every member's `mine`, by rank; apart from what the members issue besides, and from each other in
// the order of the splits. Blocks for the operation timeout at most.
template <typename Entry>
absl::StatusOr<std::vector<Entry>> Exchange(const CommunicatorState& parent, const Entry& mine) {
  std::vector<Entry> all(static_cast<size_t>(parent.size()));
  engine::Request request;
  request.kind = plan::CollectiveKind::kAllGather;
  request.type = DataType::kUint8;
  request.count = sizeof(Entry);
  request.send = reinterpret_cast<const std::byte*>(&mine);
  request.receive = reinterpret_cast<std::byte*>(all.data());
  request.timeout = parent.session().options().operation_timeout;
  PHX_ASSIGN_OR_RETURN(request.key, parent.channel().LaneOfKey(engine::kSplitKey));
  PHX_RETURN_IF_ERROR(WorkAccess::Make(parent.channel().Issue(request)).Wait());
  return all;
}

// Member numbers of those with `color`, in the new order; none for a negative one.
std::vector<int> MembersOf(int color, const std::vector<SplitEntry>& all) {
  std::vector<int> members;
  for (int r = 0; r < static_cast<int>(all.size()); ++r) {
    if (color >= 0 && all[static_cast<size_t>(r)].color == color) members.push_back(r);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return all[static_cast<size_t>(a)].key < all[static_cast<size_t>(b)].key;
  });
  return members;
}

// This member's share of what all need to know before the channel opens.
absl::Status Prepare(const CommunicatorState& parent, const std::vector<int>& ranks,
                     size_t communicators, PreparedEntry* prepared) {
  if (parent.rank() == 0) {
    PHX_ASSIGN_OR_RETURN(const CommunicatorId first,
                         parent.session().ReserveCommunicators(static_cast<int>(communicators)));
    prepared->first_communicator = first.value;
  }
  if (ranks.empty() || !parent.session().SharesMemory(ranks)) return absl::OkStatus();
  prepared->bytes = kFailed;
  PHX_ASSIGN_OR_RETURN(const std::string blob,
                       parent.session().domain().PrepareGroup(static_cast<int>(ranks.size())));
  prepared->bytes = static_cast<uint32_t>(blob.size());
  std::memcpy(prepared->data.data(), blob.data(), blob.size());
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<CommunicatorState>> Perform(const CommunicatorState& parent,
                                                           int color, int key) {
  PHX_RETURN_IF_ERROR(parent.CheckOpen("split"));
  PHX_ASSIGN_OR_RETURN(const std::vector<SplitEntry> all, Exchange(parent, SplitEntry{color, key}));
  std::set<int32_t> colors;
  for (const SplitEntry& entry : all) {
    if (entry.color >= 0) colors.insert(entry.color);
  }
  const std::vector<int> members = MembersOf(color, all);
  const std::vector<int>& parents_ranks = parent.channel().ranks();
  std::vector<int> ranks;
  for (const int member : members) ranks.push_back(parents_ranks[static_cast<size_t>(member)]);

  // Everybody takes part in the second exchange, also those who get no communicator or have failed.
  PreparedEntry mine{};
  const absl::Status prepared = Prepare(parent, ranks, colors.size(), &mine);
  PHX_ASSIGN_OR_RETURN(const std::vector<PreparedEntry> entries, Exchange(parent, mine));
  PHX_RETURN_IF_ERROR(prepared);
  const auto failed = [&](int rank, const char* what) {
    return absl::ResourceExhaustedError(
        absl::StrCat(parent.Who(), ", split: rank ", rank, " got no ", what));
  };
  if (entries[0].first_communicator == 0) {
    return failed(parents_ranks[0], "numbers for the new communicators; its own error says why");
  }
  if (ranks.empty()) return std::shared_ptr<CommunicatorState>();
  std::vector<std::string> blobs;
  for (size_t i = 0; i < members.size(); ++i) {
    const PreparedEntry& entry = entries[static_cast<size_t>(members[i])];
    if (entry.bytes > entry.data.size()) {
      return failed(ranks[i], "shared memory for it; its own error says why");
    }
    blobs.emplace_back(entry.data.data(), entry.bytes);
  }
  // Each part takes a number of its own, in the order of the colors.
  const auto place = std::distance(colors.begin(), colors.find(color));
  const auto id = entries[0].first_communicator + static_cast<uint32_t>(place);
  PHX_ASSIGN_OR_RETURN(std::shared_ptr<engine::Channel> channel,
                       parent.session().OpenChannel(CommunicatorId{static_cast<uint16_t>(id)},
                                                    std::move(ranks), blobs));
  return std::make_shared<CommunicatorState>(parent.shared_session(), std::move(channel));
}

}  // namespace

Split::Split(std::shared_ptr<CommunicatorState> parent, int color, int key)
    : parent_(std::move(parent)),
      color_(color),
      key_(key),
      number_(parent_->splits().TakeNumber()),
      result_(absl::UnknownError("not done")) {}

Split::~Split() {
  if (thread_.joinable()) thread_.join();
  if (!ran_) (void)Run();  // the others count on it
}

absl::StatusOr<std::shared_ptr<CommunicatorState>> Split::Run() {
  ran_ = true;
  parent_->splits().AwaitTurn(number_);
  absl::StatusOr<std::shared_ptr<CommunicatorState>> made = Perform(*parent_, color_, key_);
  parent_->splits().EndTurn();
  return made;
}

void Split::Start() {
  try {
    thread_ = std::thread([this] { result_ = Run(); });
  } catch (const std::system_error&) {
    result_ = Run();  // without a thread of its own it isn't as free, but it is done
  }
}

absl::StatusOr<std::shared_ptr<CommunicatorState>> Split::Await() {
  if (thread_.joinable()) thread_.join();
  return std::exchange(result_, absl::FailedPreconditionError("a split is waited for only once"));
}

}  // namespace phalanx::api
