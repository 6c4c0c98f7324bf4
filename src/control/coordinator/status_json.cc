#include "status_json.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ordering/explain.h"
#include "ordering_json/json.h"

namespace phalanx::control {
namespace {

using Json = nlohmann::json;
using ordering::OpName;
using ordering::OpView;
using ordering::RankSnapshot;
using ordering::ThreadView;
using Answers = std::map<int, RankSnapshot>;

Json OperationJson(const OpView& view, bool head) {
  Json json = ordering::ToJson(view.name);
  json["signature"] = ordering::ToJson(view.signature);
  json["stream"] = view.stream;
  json["present"] = view.present;
  json["launched"] = view.launched;
  json["head"] = head;
  json["age_s"] = static_cast<double>(view.age_ns) / 1e9;
  if (!view.call_site.empty()) json["call_site"] = view.call_site;
  return json;
}

const char* NameOf(ThreadView::State state) {
  switch (state) {
    case ThreadView::State::kOutside:
      return "outside";
    case ThreadView::State::kWaiting:
      return "waiting";
    case ThreadView::State::kEnded:
      return "ended";
  }
  return "unknown";
}

Json ThreadJson(const ThreadView& thread) {
  Json waits_for = Json::array();
  for (const OpName& op : thread.waits_for) waits_for.push_back(Describe(op));
  return {{"state", NameOf(thread.state)},
          {"waits_for", std::move(waits_for)},
          {"device_wide", thread.device_wide}};
}

void AddAnswer(const RankSnapshot& snapshot, Json* json) {
  Json operations = Json::array();
  bool head_found = false;
  for (const OpView& view : snapshot.ops) {
    const bool head = !view.launched && !std::exchange(head_found, head_found || !view.launched);
    operations.push_back(OperationJson(view, head));
  }
  Json threads = Json::array();
  for (const ThreadView& thread : snapshot.threads) threads.push_back(ThreadJson(thread));
  (*json)["operations"] = std::move(operations);
  (*json)["threads"] = std::move(threads);
  (*json)["device_held"] = snapshot.device_held;
  (*json)["tickets"] = snapshot.tickets;
}

Json RankJson(const RankFacts& facts, const Answers& answers) {
  Json json = {{"rank", facts.rank < 0 ? Json() : Json(facts.rank)}, {"state", facts.state}};
  if (facts.pid > 0) json["pid"] = facts.pid;
  if (facts.node >= 0) json["node"] = facts.node;
  if (facts.silent) json["silent"] = true;
  if (!facts.copies_on.empty()) json["copies_on"] = facts.copies_on;
  if (!facts.asked) return json;
  const auto answer = answers.find(facts.rank);
  json["answered"] = answer != answers.end();
  if (answer != answers.end()) AddAnswer(answer->second, &json);
  return json;
}

// Where each rank that has answered stands in one operation.
class Standing {
 public:
  explicit Standing(const Answers& answers) {
    for (const auto& [rank, snapshot] : answers) {
      for (const OpView& view : snapshot.ops) views_[view.name][rank] = &view;
      for (const auto& issued : snapshot.issued) next_[{rank, issued.lane}] = issued.next;
    }
  }

  // Operations that wait for ranks: for those that haven't issued them, and for those whose
  // streams haven't reached them.
  Json WaitsJson(const ordering::Roster& roster, const Answers& answers) const {
    Json waits = Json::array();
    for (const auto& [op, views] : views_) {
      Json waiting = Json::array();
      Json waits_for = Json::array();
      Json behind_in_stream = Json::array();
      for (const int rank : roster.MembersOf(op.lane)) {
        if (answers.count(rank) == 0) continue;
        const auto view = views.find(rank);
        if (view != views.end()) {
          (view->second->present ? waiting : behind_in_stream).push_back(rank);
        } else if (!IsComplete(rank, op)) {
          waits_for.push_back(rank);
        }
      }
      if (waits_for.empty() && behind_in_stream.empty()) continue;
      waits.push_back({{"op", ordering::ToJson(op)},
                       {"present_on", std::move(waiting)},
                       {"not_issued_on", std::move(waits_for)},
                       {"not_reached_on", std::move(behind_in_stream)}});
    }
    return waits;
  }

 private:
  bool IsComplete(int rank, const OpName& op) const {
    const auto next = next_.find({rank, op.lane});
    return next != next_.end() && next->second > op.sequence;
  }

  std::map<OpName, std::map<int, const OpView*>> views_;
  std::map<std::pair<int, ordering::Lane>, uint64_t> next_;
};

Json OrderingJson(const JobFacts& facts) {
  Json json = {{"mode", control::NameOf(facts.settings.ordering)},
               {"device_slots", facts.settings.device_slots},
               {"tracked", facts.settings.TracksOperations()},
               {"stall_timeout_s", static_cast<double>(facts.settings.stall_timeout_ms) / 1000},
               {"stall_action", control::NameOf(facts.settings.stall_action)}};
  if (facts.ordering == nullptr) return json;
  const ordering::Sequencer& sequencer = facts.ordering->sequencer();
  json["term"] = {{"epoch", sequencer.term().epoch},
                  {"generation", sequencer.term().generation},
                  {"kind", sequencer.certified() ? "certified" : "announced"}};
  json["tickets_between_nodes"] = sequencer.tickets();
  json["fences"] = sequencer.fences();
  return json;
}

// What keeps the job from going on, by one look at each rank, so that it may be over by now.
Json OneLook(const JobFacts& facts) {
  const Answers& answers = facts.ordering->answers();
  if (static_cast<int>(answers.size()) < facts.ordering->roster().ranks()) return Json();
  const std::optional<ordering::Explanation> explanation =
      ordering::Explain(facts.ordering->roster(), answers);
  if (!explanation.has_value()) return Json();
  ordering::Explanation shown = *explanation;
  shown.aborted.clear();  // a look aborts nothing
  return ordering::ToJson(shown);
}

}  // namespace

std::string ToJson(const JobFacts& facts) {
  static const Answers kNone;
  const Answers& answers = facts.ordering == nullptr ? kNone : facts.ordering->answers();
  Json nodes = Json::array();
  for (const NodeFacts& node : facts.nodes) {
    nodes.push_back({{"node", node.node}, {"name", node.name}, {"cores", node.cores}});
  }
  Json ranks = Json::array();
  for (const RankFacts& rank : facts.ranks) ranks.push_back(RankJson(rank, answers));
  Json json = {
      {"job", facts.job},           {"phase", facts.phase},      {"world_size", facts.world_size},
      {"epoch", facts.epoch.value}, {"nodes", std::move(nodes)}, {"ordering", OrderingJson(facts)},
      {"ranks", std::move(ranks)}};
  if (!facts.reason.empty()) json["reason"] = facts.reason;
  AddRecovery(facts.recovery, &json);
  if (facts.ordering == nullptr || !facts.settings.TracksOperations()) {
    return ordering::LineOf(json);
  }
  Json reports = Json::array();
  for (const auto& conclusion : facts.ordering->conclusions()) {
    reports.push_back(ordering::ToJson(*conclusion));
  }
  json["waits"] = Standing(answers).WaitsJson(facts.ordering->roster(), answers);
  json["now"] = OneLook(facts);
  json["reports"] = std::move(reports);
  json["reports_made"] = facts.ordering->conclusions_made();
  return ordering::LineOf(json);
}

std::string ErrorJson(const std::string& why) { return ordering::LineOf(Json{{"error", why}}); }

}  // namespace phalanx::control
