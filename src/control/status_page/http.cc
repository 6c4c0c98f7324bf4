#include "control_status_page/http.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace phalanx::control {
namespace {

bool IsTokenCharacter(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         kOthers.find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

// Visible ASCII.
bool IsTarget(std::string_view text) {
  return text.size() > 0 && text[0] == '/' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool IsFieldValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return c != '\t' && absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool IsNamed(std::string_view name, std::string_view lower_case) {
  return std::equal(name.begin(), name.end(), lower_case.begin(), lower_case.end(),
                    [](char one, char other) {
                      return absl::ascii_tolower(static_cast<unsigned char>(one)) == other;
                    });
}

// The status that refuses it, or 200.
int ParseRequestLine(std::string_view line, HttpRequest* request) {
  const size_t first = line.find(' ');
  const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return 400;
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  constexpr std::string_view kPrefix = "HTTP/";
  if (!IsToken(method) || !IsTarget(target) || version.size() != kPrefix.size() + 3 ||
      version.substr(0, kPrefix.size()) != kPrefix || version[6] != '.' ||
      !absl::ascii_isdigit(static_cast<unsigned char>(version[5])) ||
      !absl::ascii_isdigit(static_cast<unsigned char>(version[7]))) {
    return 400;
  }
  if (version[5] != '1') return 505;
  request->method = std::string(method);
  request->path = std::string(target.substr(0, target.find('?')));
  request->minor_version = version[7] - '0';
  return 200;
}

// The status that refuses it, or 200. A line that goes on in the next one begins with a blank,
// which is in no token.
int ParseField(std::string_view line, HttpRequest* request) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return 400;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = line.substr(colon + 1);
  if (!IsToken(name) || !IsFieldValue(value)) return 400;
  if (!IsNamed(name, "host")) return 200;
  if (request->host.has_value()) return 400;
  request->host = std::string(Trimmed(value));
  return 200;
}

bool IsOwnName(std::string_view host) {
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (has_port) {
    const std::string_view port = host.substr(colon + 1);
    if (!std::all_of(port.begin(), port.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); })) {
      return false;
    }
    host = host.substr(0, colon);
  }
  return IsNamed(host, "localhost") || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace

HttpHead ParseHttpHead(std::string_view bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  HttpHead head;
  const size_t end = bytes.find(kEnd);
  const size_t size = end == std::string_view::npos ? bytes.size() : end + kEnd.size();
  if (size > kMaxHttpHeadBytes) {
    head.status = 431;
    return head;
  }
  if (end == std::string_view::npos) return head;
  std::string_view rest = bytes.substr(0, end + 2);
  for (bool is_first = true; !rest.empty(); is_first = false) {
    const size_t line_end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + 2);
    head.status =
        is_first ? ParseRequestLine(line, &head.request) : ParseField(line, &head.request);
    if (head.status != 200) return head;
  }
  if (head.request.minor_version > 0 && !head.request.host.has_value()) head.status = 400;
  return head;
}

HttpDecision Decide(const HttpRequest& request) {
  HttpDecision decision;
  decision.body = request.method != "HEAD";
  if (request.host.has_value() && !IsOwnName(*request.host)) {
    decision.status = 403;
  } else if (request.path == "/") {
    decision.resource = StatusResource::kPage;
  } else if (request.path == "/status.json") {
    decision.resource = StatusResource::kJson;
  } else if (request.path == "/metrics") {
    decision.resource = StatusResource::kMetrics;
  } else if (request.path == "/healthz") {
    decision.resource = StatusResource::kHealth;
  } else {
    decision.status = 404;
  }
  if (decision.status == 200 && request.method != "GET" && request.method != "HEAD") {
    decision.status = 405;
  }
  return decision;
}

std::string_view HttpReason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::string ToHttp(const HttpAnswer& answer) {
  const std::string_view reason = HttpReason(answer.status);
  return absl::StrCat("HTTP/1.1 ", answer.status, " ",
                      absl::string_view(reason.data(), reason.size()),
                      "\r\nContent-Type: ", answer.type, "\r\nContent-Length: ", answer.body.size(),
                      answer.status == 405 ? "\r\nAllow: GET, HEAD" : "",
                      "\r\nCache-Control: no-store"
                      "\r\nX-Content-Type-Options: nosniff"
                      "\r\nCross-Origin-Resource-Policy: same-origin"
                      "\r\nContent-Security-Policy: default-src 'none'; connect-src 'self'; "
                      "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                      "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
                      "\r\nConnection: close\r\n\r\n",
                      answer.with_body ? answer.body : "");
}

}  // namespace phalanx::control
