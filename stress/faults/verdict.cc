#include "verdict.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace phalanx::stress {

std::vector<std::string> DigestsIn(absl::string_view output) {
  constexpr absl::string_view kWord = "weights ";
  std::vector<std::string> digests;
  for (size_t at = output.find(kWord); at != absl::string_view::npos;
       at = output.find(kWord, at + 1)) {
    const size_t begin = at + kWord.size();
    const size_t end = output.find_first_of(" \r\n", begin);
    digests.emplace_back(output.substr(begin, end == absl::string_view::npos ? end : end - begin));
  }
  std::sort(digests.begin(), digests.end());
  return digests;
}

Verdict Judge(const Outcome& outcome, const std::vector<std::string>& expected) {
  Verdict verdict;
  const auto find = [&](bool* what, std::string why) {
    *what = true;
    verdict.why.push_back(std::move(why));
  };
  // What a killed job has printed says nothing.
  if (outcome.hung) {
    find(&verdict.hung, "it hung, and was killed");
  } else if (outcome.exit_code != 0) {
    find(&verdict.wrong, absl::StrCat("it ", outcome.how));
  } else if (const std::vector<std::string> digests = DigestsIn(outcome.output);
             digests != expected) {
    find(&verdict.wrong, absl::StrCat("its digests are ", absl::StrJoin(digests, " "), ", not ",
                                      absl::StrJoin(expected, " ")));
  }
  for (const std::string& lost : outcome.history.lost) find(&verdict.lost, lost);
  for (const std::string& left : outcome.left) find(&verdict.left, absl::StrCat("left: ", left));
  return verdict;
}

}  // namespace phalanx::stress
