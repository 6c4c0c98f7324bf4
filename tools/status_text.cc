#include "status_text.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace phalanx::tools {
namespace {

using Json = nlohmann::json;

std::string Counted(uint64_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// "3.2 s": as much as a person wants to know.
std::string Seconds(double seconds) {
  std::ostringstream text;
  text.precision(seconds < 10 ? 2 : 4);
  text << seconds << " s";
  return text.str();
}

std::string RanksText(const Json& ranks) {
  const auto numbers = ranks.get<std::vector<int>>();
  return absl::StrCat(numbers.size() == 1 ? "rank " : "ranks ", absl::StrJoin(numbers, ", "));
}

std::string Indented(const std::string& text, const std::string& by) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) absl::StrAppend(&result, by, line, "\n");
  return result;
}

std::string OrderingText(const Json& ordering) {
  const std::string mode = ordering.at("mode");
  const int slots = ordering.at("device_slots");
  std::string text = absl::StrCat(
      "ordering: ", mode, ", ",
      slots == 0 ? "no limit of slots" : Counted(static_cast<uint64_t>(slots), "slot"));
  if (!ordering.at("tracked")) {
    return absl::StrCat(text,
                        "\n  operations are not tracked: set PHALANX_ORDERING=strict, or "
                        "adaptive with PHALANX_DEVICE_SLOTS, to see them here\n");
  }
  absl::StrAppend(&text, "; reports after ", Seconds(ordering.at("stall_timeout_s")),
                  " without progress, cycles: ", ordering.at("stall_action").get<std::string>(),
                  "\n");
  if (!ordering.contains("term")) return text;
  const Json& term = ordering.at("term");
  return absl::StrCat(text, "sequencer: ", term.at("kind").get<std::string>(), ", term ",
                      term.at("epoch").get<uint64_t>(), ".", term.at("generation").get<uint64_t>(),
                      ", ", Counted(ordering.at("tickets_between_nodes"), "ticket"),
                      " between nodes, ", Counted(ordering.at("fences"), "fence"), "\n");
}

std::string OperationText(const Json& op) {
  std::string text = absl::StrCat("  ", op.at("name").get<std::string>(), " (",
                                  op.at("signature").get<std::string>(), ") on stream ",
                                  op.at("stream").get<uint64_t>());
  if (op.contains("call_site")) {
    absl::StrAppend(&text, " at ", op.at("call_site").get<std::string>());
  }
  const bool launched = op.at("launched");
  const bool present = op.at("present");
  absl::StrAppend(&text,
                  launched  ? ": launched"
                  : present ? ": present, not launched"
                            : ": its stream hasn't reached it",
                  ", for ", Seconds(op.at("age_s")), op.at("head") ? ", first in the queue" : "",
                  "\n");
  return text;
}

std::string AnswerText(const Json& rank) {
  std::string text;
  for (const Json& op : rank.at("operations")) text += OperationText(op);
  for (const Json& thread : rank.at("threads")) {
    if (thread.at("state") != "waiting") continue;
    const auto waits_for = thread.at("waits_for").get<std::vector<std::string>>();
    absl::StrAppend(
        &text, "  a thread waits for ", thread.at("device_wide") ? "the whole device: " : "",
        waits_for.empty() ? "nothing that is left" : absl::StrJoin(waits_for, " and "), "\n");
  }
  return text;
}

std::string RankText(const Json& rank) {
  std::string where;
  if (rank.contains("pid")) {
    where = absl::StrCat(
        " (pid ", rank.at("pid").get<int>(),
        rank.contains("node") ? absl::StrCat(", node ", rank.at("node").get<int>()) : "", ")");
  }
  std::string text = absl::StrCat(
      rank.at("rank").is_null() ? "a rank" : absl::StrCat("rank ", rank.at("rank").get<int>()),
      where, ": ", rank.at("state").get<std::string>());
  if (!rank.contains("answered")) return text + "\n";
  if (!rank.at("answered")) return text + ", doesn't answer\n";
  return absl::StrCat(text, ", ", Counted(rank.at("operations").size(), "operation"),
                      " in flight, ", Counted(rank.at("tickets"), "ticket"), " so far",
                      rank.at("device_held") ? ", its device is held" : "", "\n", AnswerText(rank));
}

std::string WaitText(const Json& wait) {
  std::vector<std::string> parts;
  if (!wait.at("present_on").empty()) {
    parts.push_back(absl::StrCat("present on ", RanksText(wait.at("present_on"))));
  }
  if (!wait.at("not_reached_on").empty()) {
    parts.push_back(absl::StrCat("waits for a stream on ", RanksText(wait.at("not_reached_on"))));
  }
  if (!wait.at("not_issued_on").empty()) {
    parts.push_back(absl::StrCat("not issued on ", RanksText(wait.at("not_issued_on"))));
  }
  return absl::StrCat("  ", wait.at("op").at("name").get<std::string>(), ": ",
                      absl::StrJoin(parts, ", "), "\n");
}

}  // namespace

std::string StatusText(const Json& status) {
  std::string text = absl::StrCat("job ", status.at("job").get<std::string>(), ": ",
                                  status.at("phase").get<std::string>(), ", ",
                                  Counted(status.at("world_size"), "rank"), " on ",
                                  Counted(status.at("nodes").size(), "node"), ", epoch ",
                                  status.at("epoch").get<uint64_t>(), "\n");
  if (status.contains("reason")) {
    absl::StrAppend(&text, "  ", status.at("reason").get<std::string>(), "\n");
  }
  for (const Json& node : status.at("nodes")) {
    absl::StrAppend(&text, "node ", node.at("node").get<int>(), ": ",
                    node.at("name").get<std::string>(), ", ", Counted(node.at("cores"), "core"),
                    "\n");
  }
  text += OrderingText(status.at("ordering"));
  for (const Json& rank : status.at("ranks")) text += RankText(rank);
  if (!status.contains("reports")) return text;
  if (!status.at("waits").empty()) text += "operations that wait:\n";
  for (const Json& wait : status.at("waits")) text += WaitText(wait);
  if (!status.at("now").is_null()) {
    absl::StrAppend(&text, "at this look:\n",
                    Indented(status.at("now").at("text").get<std::string>(), "  "));
  }
  absl::StrAppend(&text, Counted(status.at("reports_made"), "report"), " so far",
                  status.at("reports").empty() ? "" : "; the last:", "\n");
  for (const Json& report : status.at("reports")) {
    text += Indented(report.at("text").get<std::string>(), "  ");
  }
  return text;
}

}  // namespace phalanx::tools
