#include "random_program.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace phalanx::ordering::simulation {
namespace {

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Program Make() {
    const int ranks = Pick(2, 4);
    const int nodes = Pick(1, ranks);
    for (int rank = 0; rank < ranks; ++rank) program_.node_of_rank.push_back(rank * nodes / ranks);
    program_.slots = Pick(1, 3);
    program_.device_wait_holds = Chance(0.1);
    MakeCommunicators(ranks);
    disorder_ = Chance(0.3) ? 0 : 0.3;
    host_waits_ = Chance(0.4) ? 0 : 0.25;
    device_waits_ = Chance(0.8) ? 0 : 0.1;
    threads_ = Pick(1, 2);
    streams_ = Pick(1, 3);
    // What it waits for would depend on how far the other thread has come.
    if (threads_ > 1) device_waits_ = 0;
    program_.ranks.resize(static_cast<size_t>(ranks));
    for (auto& threads : program_.ranks) threads.resize(static_cast<size_t>(threads_));

    const bool loops = Chance(0.5);
    const auto body = MakeBody(Pick(1, loops ? 5 : 7), Chance(0.1));
    const int times = loops ? Pick(4, 8) : 1;
    for (int i = 0; i < times; ++i) Append(body);
    // Something that the loop didn't foresee.
    if (loops && Chance(0.7)) {
      disorder_ = std::max(disorder_, 0.2);
      Append(MakeBody(Pick(1, 5), Chance(0.1)));
    }
    return std::move(program_);
  }

 private:
  // One iteration: the threads of each rank.
  using Body = std::vector<std::vector<Thread>>;
  struct Op {
    Lane lane;
    Signature signature;
    std::string label;
    Ranks members;
  };

  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(double probability) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
  }

  void MakeCommunicators(int ranks) {
    const int count = Pick(1, 4);
    for (int i = 0; i < count; ++i) {
      Ranks members;
      for (int rank = 0; rank < ranks; ++rank) {
        if (Chance(0.7)) members.push_back(rank);
      }
      if (members.size() < 2) members = {0, 1};
      program_.communicators.push_back(members);
    }
  }

  Op MakeOp(int number) {
    Op op;
    const auto communicator =
        static_cast<uint16_t>(Pick(0, static_cast<int>(program_.communicators.size()) - 1));
    op.members = program_.communicators[communicator];
    op.label = std::string(1, static_cast<char>('A' + number % 26));
    op.signature = {OpKind::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, 1024, 0};
    const double kind = std::uniform_real_distribution<double>(0, 1)(random_);
    if (kind < 0.2) {
      op.lane = Lane::OfKey({communicator}, absl::StrCat("key", Pick(0, 2)));
    } else if (kind < 0.4) {
      std::shuffle(op.members.begin(), op.members.end(), random_);
      op.members.resize(2);
      op.lane = Lane::OfPair({communicator}, op.members[0], op.members[1]);
      op.signature.kind = OpKind::kMessage;
    } else {
      op.lane = Lane::Of({communicator});
      if (Chance(0.1)) op.signature.count = 2048;
      if (Chance(0.3)) {
        op.signature.kind = Chance(0.5) ? OpKind::kBroadcast : OpKind::kReduce;
        op.signature.root =
            op.members[static_cast<size_t>(Pick(0, static_cast<int>(op.members.size()) - 1))];
      }
    }
    return op;
  }

  // `faulty`: a rank leaves an operation out, or issues another.
  Body MakeBody(int count, bool faulty) {
    std::vector<Op> ops;
    for (int i = 0; i < count; ++i) ops.push_back(MakeOp(i));
    Body body(program_.ranks.size(), std::vector<Thread>(static_cast<size_t>(threads_)));
    for (int rank = 0; rank < static_cast<int>(body.size()); ++rank) {
      std::vector<Op> mine;
      for (const Op& op : ops) {
        if (std::find(op.members.begin(), op.members.end(), rank) != op.members.end()) {
          mine.push_back(op);
        }
      }
      for (size_t i = 1; i < mine.size(); ++i) {
        if (Chance(disorder_))
          std::swap(mine[i], mine[static_cast<size_t>(Pick(0, static_cast<int>(i)))]);
      }
      for (const Op& op : mine) IssueOne(rank, op, faulty, &body);
    }
    return body;
  }

  void IssueOne(int rank, const Op& op, bool faulty, Body* body) {
    if (faulty && Chance(0.1)) return;
    Call call{op.lane, op.signature, op.label};
    if (faulty && Chance(0.1)) call.signature.count = 4096;
    // A lane belongs to one thread of a rank: two that share one have no order to speak of.
    const auto [owner, is_new] =
        owner_.emplace(std::make_pair(rank, op.lane), Pick(0, threads_ - 1));
    Thread& thread = (*body)[static_cast<size_t>(rank)][static_cast<size_t>(owner->second)];
    const bool after_issue = !thread.empty() && thread.back().kind == Instruction::Kind::kIssue;
    if (after_issue && Chance(0.15)) {
      thread.back().calls.push_back(call);
    } else {
      Instruction issue;
      issue.calls.push_back(call);
      // A stream, too, belongs to one thread, or its order is a matter of luck.
      issue.stream = static_cast<uint32_t>(owner->second * streams_ + Pick(0, streams_ - 1));
      if (after_issue && op.lane.kind == Lane::Kind::kPair && Chance(0.5)) {
        issue.stream = thread.back().stream;
        issue.beside = true;
      }
      thread.push_back(issue);
    }
    if (Chance(host_waits_)) {
      Instruction wait;
      wait.kind =
          Chance(device_waits_) ? Instruction::Kind::kDeviceWait : Instruction::Kind::kHostWait;
      wait.target = thread.size() - 1;
      thread.push_back(wait);
    }
  }

  void Append(const Body& body) {
    for (size_t rank = 0; rank < body.size(); ++rank) {
      for (size_t i = 0; i < body[rank].size(); ++i) {
        Thread& thread = program_.ranks[rank][i];
        const size_t begin = thread.size();
        for (Instruction instruction : body[rank][i]) {
          instruction.target += begin;
          thread.push_back(std::move(instruction));
        }
      }
    }
  }

  std::mt19937_64 random_;
  Program program_;
  std::map<std::pair<int, Lane>, int> owner_;
  double disorder_ = 0;
  double host_waits_ = 0;
  double device_waits_ = 0;
  int threads_ = 1;
  int streams_ = 1;
};

}  // namespace

Program RandomProgram(uint64_t seed) { return Maker(seed).Make(); }

Options RandomOptions(const Program& program, uint64_t seed, bool adaptive) {
  std::mt19937_64 random(seed * 2 + (adaptive ? 1 : 0));
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Options options;
  options.seed = random();
  options.adaptive = adaptive;
  options.certified_path = pick(0, 3) > 0;
  options.crashes = pick(0, 3) == 0 ? pick(1, 2) : 0;
  options.pauses = pick(0, 3) == 0 ? 0.1 : 0;
  options.run_ahead = pick(0, 3) == 0 ? 2 : 256;
  options.goes_on = pick(0, 2) == 0;
  options.early = 0.5 * pick(0, 2);
  if (adaptive && pick(0, 1) == 0) options.suggestion = ScheduleOf(program, &random);
  return options;
}

}  // namespace phalanx::ordering::simulation
