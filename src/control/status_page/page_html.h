// page.html, as it is sent.
#ifndef PHALANX_CONTROL_STATUS_PAGE_PAGE_HTML_H_
#define PHALANX_CONTROL_STATUS_PAGE_PAGE_HTML_H_

namespace phalanx::control {

extern const char kPageHtml[];

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_STATUS_PAGE_PAGE_HTML_H_
