#include "membership/register.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace phalanx::membership {
namespace {

bool IsMajority(const std::set<VoterId>& of, const std::set<VoterId>& voters) {
  const auto votes = std::count_if(of.begin(), of.end(),
                                   [&](const VoterId& voter) { return voters.contains(voter); });
  return static_cast<size_t>(votes) * 2 > of.size();
}

std::string Describe(const std::set<VoterId>& voters) {
  std::string text = "{";
  for (const VoterId& voter : voters) {
    absl::StrAppend(&text, text.size() > 1 ? " " : "", voter.value);
  }
  return text + "}";
}

struct Text {
  std::string operator()(const Prepare& prepare) const {
    return absl::StrCat("prepare ", Describe(prepare.ballot), " to ", prepare.to.value);
  }
  std::string operator()(const Accept& accept) const {
    return absl::StrCat("accept ", Describe(accept.ballot), " ", Describe(*accept.record), " to ",
                        accept.to.value);
  }
  std::string operator()(const Promise& promise) const {
    return absl::StrCat(promise.from.value, " promises ", Describe(promise.ballot),
                        promise.record == nullptr
                            ? std::string()
                            : absl::StrCat(", accepted ", Describe(*promise.record), " under ",
                                           Describe(promise.accepted)));
  }
  std::string operator()(const Accepted& accepted) const {
    return absl::StrCat(accepted.from.value, " accepts ", Describe(accepted.ballot));
  }
  std::string operator()(const Refused& refused) const {
    return absl::StrCat(refused.from.value, " refuses ", Describe(refused.ballot),
                        ", has promised ", Describe(refused.promised));
  }
  std::string operator()(const NotAVoter& stranger) const {
    return absl::StrCat("no voter ", stranger.from.value, " for ", Describe(stranger.ballot));
  }
};

}  // namespace

bool VoterSets::IsQuorum(const std::set<VoterId>& voters) const {
  return IsMajority(current, voters) && (incoming.empty() || IsMajority(incoming, voters));
}

std::set<VoterId> VoterSets::All() const {
  std::set<VoterId> all = current;
  all.insert(incoming.begin(), incoming.end());
  return all;
}

std::string Describe(const Ballot& ballot) {
  return absl::StrCat(ballot.round, ".", ballot.proposer.value);
}

std::string Describe(const VoterSets& voters) {
  const std::string current = Describe(voters.current);
  return voters.incoming.empty() ? current : current + "->" + Describe(voters.incoming);
}

std::string Describe(const Record& record) {
  return absl::StrCat("version ", record.version, " by ", record.change.proposer.value, "#",
                      record.change.number, " ", Describe(record.voters));
}

std::string Describe(const ToVoter& message) { return std::visit(Text(), message); }
std::string Describe(const ToProposer& message) { return std::visit(Text(), message); }

}  // namespace phalanx::membership
