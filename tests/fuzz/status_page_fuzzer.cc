// What a browser, or anybody else, sends to the status page: any bytes are safe to pass, cut
// anywhere, and a head that is whole stays what it is whatever follows it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "control_status_page/http.h"

using phalanx::control::Decide;
using phalanx::control::HttpHead;
using phalanx::control::ParseHttpHead;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HttpHead whole = ParseHttpHead(bytes);
  for (size_t cut = size; cut > 0; cut /= 2) {
    const HttpHead part = ParseHttpHead(bytes.substr(0, cut - 1));
    if (part.status != 200) continue;
    PHX_CHECK(whole.status == 200 && whole.request == part.request);
  }
  if (whole.status != 200) return 0;
  PHX_CHECK(!whole.request.path.empty() && whole.request.path[0] == '/');
  const int status = Decide(whole.request).status;
  PHX_CHECK(status == 200 || status == 403 || status == 404 || status == 405);
  return 0;
}
