#include "ordering/explanation.h"

#include "absl/strings/str_cat.h"

namespace phalanx::ordering {
namespace {

using Kind = Explanation::Kind;
using Line = Explanation::Line;

const char* Headline(Kind kind) {
  switch (kind) {
    case Kind::kCycle:
      return "operations wait for each other";
    case Kind::kAbsentRank:
      return "a rank issues no more operations, and others wait for one";
    case Kind::kRankBehind:
      return "a rank hasn't issued an operation that others wait for";
    case Kind::kMismatch:
      return "ranks disagree about an operation";
    case Kind::kDeviceWait:
      return "a wait for the whole device keeps an operation from being launched";
  }
  return "";
}

std::string WhyOf(const Line& line) {
  const std::string waits_for =
      line.waits_for.has_value() ? ordering::Describe(*line.waits_for) : "";
  switch (line.why) {
    case Line::Why::kStream:
      return absl::StrCat("stands in its stream behind ", waits_for);
    case Line::Why::kHost:
      return absl::StrCat("isn't issued: the host waits for ", waits_for);
    case Line::Why::kAbsent:
      return "isn't issued, and no thread is left to issue it";
    case Line::Why::kBehind:
      return absl::StrCat("isn't issued yet (", line.behind, " behind)");
    case Line::Why::kDevice:
      return absl::StrCat("isn't launched: the device is held by a wait for ", waits_for);
    case Line::Why::kDiffers:
      return "was issued with these arguments";
  }
  return "";
}

std::string LineText(const Line& line) {
  std::string text = absl::StrCat("rank ", line.rank, ": ", ordering::Describe(line.op));
  if (line.signature.has_value()) {
    absl::StrAppend(&text, " (", ordering::Describe(*line.signature), ")");
  }
  if (line.stream.has_value()) absl::StrAppend(&text, " on stream ", *line.stream);
  if (!line.call_site.empty()) absl::StrAppend(&text, " at ", line.call_site);
  return absl::StrCat(text, " ", WhyOf(line));
}

}  // namespace

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kCycle:
      return "cycle";
    case Kind::kAbsentRank:
      return "absent rank";
    case Kind::kRankBehind:
      return "rank behind";
    case Kind::kMismatch:
      return "mismatch";
    case Kind::kDeviceWait:
      return "device wait";
  }
  return "unknown";
}

const char* RemedyOf(Kind kind) {
  switch (kind) {
    case Kind::kCycle:
      return "issue these operations in one order on all ranks, or wait for them after all are "
             "issued; "
             "where only the order on one communicator differs, give the operations keys";
    case Kind::kAbsentRank:
      return "make every rank issue the same operations; look for a branch or a last batch that "
             "only some ranks take";
    case Kind::kRankBehind:
      return "see what that rank is doing: it computes, or it waits outside of the library";
    case Kind::kMismatch:
      return "pass the same values on all ranks; if the ranks mean different operations, issue "
             "them "
             "in one order or give them keys";
    case Kind::kDeviceWait:
      return "wait for the operation or its stream in place of the whole device";
  }
  return "";
}

const char* NameOf(Line::Why why) {
  switch (why) {
    case Line::Why::kStream:
      return "stream";
    case Line::Why::kHost:
      return "host";
    case Line::Why::kAbsent:
      return "absent";
    case Line::Why::kBehind:
      return "behind";
    case Line::Why::kDevice:
      return "device";
    case Line::Why::kDiffers:
      return "differs";
  }
  return "unknown";
}

std::string Describe(const Explanation& explanation) {
  std::string text = absl::StrCat(NameOf(explanation.kind), ": ", Headline(explanation.kind));
  if (explanation.difference.has_value()) {
    const Difference& difference = *explanation.difference;
    absl::StrAppend(&text, ": ", difference.field, " ", difference.left, " on rank ",
                    explanation.lines[0].rank, ", ", difference.right, " on rank ",
                    explanation.lines[1].rank);
  }
  absl::StrAppend(&text, "\n");
  for (const Line& line : explanation.lines) absl::StrAppend(&text, "  ", LineText(line), "\n");
  return absl::StrCat(text, "  ", RemedyOf(explanation.kind), "\n");
}

}  // namespace phalanx::ordering
