#include "control_launch/host_list.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace phalanx::control {
namespace {

constexpr int kMostSlots = 65536;

absl::Status Wrong(absl::string_view part, const char* why) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", part, "' ", why, "; write HOST or HOST:RANKS, such as node1:2"));
}

bool IsHostCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ||
         c == '@' || c == ':' || c == '%';
}

// A host goes on the remote shell's command line, so it must not look like an option or hold
// anything that a shell would take apart.
absl::Status CheckHost(absl::string_view part, absl::string_view host) {
  if (host.empty()) return Wrong(part, "names no host");
  if (host[0] == '-' || !std::all_of(host.begin(), host.end(), IsHostCharacter)) {
    return Wrong(part, "is no host name");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> ParseSlots(absl::string_view part, absl::string_view number) {
  int slots = 0;
  if (!absl::SimpleAtoi(number, &slots) || slots < 1 || slots > kMostSlots) {
    return Wrong(part, "has no number of ranks from 1 to 65536");
  }
  return slots;
}

absl::StatusOr<HostSlots> ParseHost(absl::string_view part) {
  absl::string_view host = part;
  absl::string_view number = "1";
  if (!part.empty() && part[0] == '[') {
    const size_t end = part.find(']');
    if (end == absl::string_view::npos) return Wrong(part, "lacks a ]");
    host = part.substr(1, end - 1);
    const absl::string_view rest = part.substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return Wrong(part, "goes on after the ]");
    if (!rest.empty()) number = rest.substr(1);
  } else if (const size_t colon = part.find(':'); colon != absl::string_view::npos) {
    host = part.substr(0, colon);
    number = part.substr(colon + 1);
  }
  PHX_RETURN_IF_ERROR(CheckHost(part, host));
  PHX_ASSIGN_OR_RETURN(const int slots, ParseSlots(part, number));
  return HostSlots{std::string(host), slots};
}

absl::StatusOr<HostSlots> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  PHX_ASSIGN_OR_RETURN(HostSlots host, ParseHost(words[0]));
  for (size_t i = 1; i < words.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> setting =
        absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    if (setting.first == "slots") {
      PHX_ASSIGN_OR_RETURN(host.slots, ParseSlots(line, setting.second));
    } else if (setting.first != "max_slots" && setting.first != "max-slots") {
      return Wrong(line, "has a word that isn't known");
    }
  }
  return host;
}

}  // namespace

absl::StatusOr<std::vector<HostSlots>> ParseHostList(const std::string& text) {
  std::vector<HostSlots> hosts;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    PHX_ASSIGN_OR_RETURN(HostSlots host, ParseHost(absl::StripAsciiWhitespace(part)));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

absl::StatusOr<std::vector<HostSlots>> ParseHostFile(const std::string& text) {
  std::vector<HostSlots> hosts;
  int number = 0;
  for (const absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    absl::StatusOr<HostSlots> host = ParseLine(line);
    if (!host.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", host.status().message()));
    }
    hosts.push_back(*std::move(host));
  }
  if (hosts.empty()) return absl::InvalidArgumentError("it names no host");
  return hosts;
}

absl::StatusOr<std::vector<HostSlots>> TakeSlots(const std::vector<HostSlots>& hosts, int ranks) {
  std::vector<HostSlots> taken;
  int left = ranks;
  for (const HostSlots& host : hosts) {
    if (left == 0) break;
    taken.push_back({host.host, std::min(left, host.slots)});
    left -= taken.back().slots;
  }
  if (left > 0) {
    return absl::InvalidArgumentError(absl::StrCat(ranks,
                                                   " ranks were asked for, but the hosts have ",
                                                   ranks - left, " slots; write HOST:RANKS"));
  }
  return taken;
}

bool IsThisMachine(const std::string& host, const std::string& host_name) {
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == host_name;
}

}  // namespace phalanx::control
