// The job's part of the ordering service: the pure sequencer between the nodes' bytes. Pure as
// well.
#ifndef PHALANX_CONTROL_COORDINATOR_JOB_ORDERING_H_
#define PHALANX_CONTROL_COORDINATOR_JOB_ORDERING_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control_protocol/message.h"
#include "ordering/sequencer.h"
#include "ordering_wire/registry.h"

namespace phalanx::control {

class JobOrdering {
 public:
  struct ToNode {
    int node = 0;  // as the view numbers them
    std::string payload;
  };
  struct Outputs {
    std::vector<ToNode> messages;  // to be sent in this order
    std::vector<std::shared_ptr<const ordering::Explanation>> conclusions;  // new ones
  };
  // How many conclusions are kept for who asks.
  static constexpr size_t kConclusionsKept = 8;

  // For the view that begins, of a job that is ordered.
  explicit JobOrdering(const message::View& view);

  // The first call, once.
  Outputs Begin();
  // INVALID_ARGUMENT: nothing was done, and the node must not be listened to any more.
  absl::StatusOr<Outputs> FromNode(int node, absl::string_view payload);

  // Asks all ranks what they have in flight; forgets what they said before.
  Outputs AskRanks();
  // By rank: those that have answered since.
  const std::map<int, ordering::RankSnapshot>& answers() const { return answers_; }
  void ForgetAnswers() { answers_.clear(); }

  const ordering::Roster& roster() const { return registry_.roster(); }
  const ordering::Sequencer& sequencer() const { return sequencer_; }
  // The newest, the last one last.
  const std::deque<std::shared_ptr<const ordering::Explanation>>& conclusions() const {
    return conclusions_;
  }
  uint64_t conclusions_made() const { return conclusions_made_; }

 private:
  static constexpr uint64_t kFirstRound = uint64_t{1} << 63;

  Outputs Step(const ordering::SequencerInput& input);
  ordering::Order ForNode(int place, const ordering::Order& order);

  ordering::Registry registry_;
  ordering::Sequencer sequencer_;
  // What each node needs of the schedule that was told last, by place.
  std::shared_ptr<const ordering::Schedule> schedule_;
  std::vector<std::shared_ptr<ordering::Schedule>> parts_;
  // Numbered apart from the sequencer's own rounds of snapshots.
  uint64_t round_ = kFirstRound;
  std::map<int, ordering::RankSnapshot> answers_;
  std::deque<std::shared_ptr<const ordering::Explanation>> conclusions_;
  uint64_t conclusions_made_ = 0;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_COORDINATOR_JOB_ORDERING_H_
