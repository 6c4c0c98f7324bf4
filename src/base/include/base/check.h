// Assertions against bugs of our own. They stay on in every build; what a user, a peer or the
// machine can get wrong is an absl::Status instead.
#ifndef PHALANX_BASE_CHECK_H_
#define PHALANX_BASE_CHECK_H_

namespace phalanx {

// Prints `file:line: check failed: expression (detail)` to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* expression,
                              const char* detail);

}  // namespace phalanx

#define PHX_CHECK(condition) PHX_CHECK_MSG(condition, "")
#define PHX_CHECK_MSG(condition, detail)                              \
  do {                                                                \
    if (!(condition)) [[unlikely]] {                                  \
      ::phalanx::CheckFailed(__FILE__, __LINE__, #condition, detail); \
    }                                                                 \
  } while (false)

#endif  // PHALANX_BASE_CHECK_H_
