// As much of HTTP as a page on loopback needs: requests without a body, one a connection. Pure; any
// bytes are safe to pass.
#ifndef PHALANX_CONTROL_STATUS_PAGE_HTTP_H_
#define PHALANX_CONTROL_STATUS_PAGE_HTTP_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace phalanx::control {

// Of the request line and all headers; more are answered with 431.
inline constexpr size_t kMaxHttpHeadBytes = 8192;

struct HttpRequest {
  std::string method;
  std::string path;  // without a query
  int minor_version = 1;
  std::optional<std::string> host;  // as it was given, with a port perhaps
  bool operator==(const HttpRequest&) const = default;
};

struct HttpHead {
  // 0: it isn't complete yet. 200: `request` is there. Else the status with which it is refused:
  // 400, 431 or 505.
  int status = 0;
  HttpRequest request;
};

// `bytes`: all that has come so far.
HttpHead ParseHttpHead(std::string_view bytes);

enum class StatusResource { kPage, kJson, kMetrics, kHealth };

struct HttpDecision {
  int status = 200;  // else 403, 404 or 405
  StatusResource resource = StatusResource::kPage;
  bool body = true;  // false: only the head of the answer
};

// A browser that was led here under another name (by an answer of somebody's name server) must not
// read for that site what the page says, so only this machine's own names count.
HttpDecision Decide(const HttpRequest& request);

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  bool with_body = true;
};

// As bytes. The connection ends with it.
std::string ToHttp(const HttpAnswer& answer);

// "Not Found" for 404.
std::string_view HttpReason(int status);

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_STATUS_PAGE_HTTP_H_
