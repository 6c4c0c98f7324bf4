// Early return on a failed absl::Status. The installed Abseil (20220623) has no macros of its own.
#ifndef PHALANX_BASE_STATUS_MACROS_H_
#define PHALANX_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Evaluates `expr` (an absl::Status) once and returns it from the enclosing function if not OK.
#define PHX_RETURN_IF_ERROR(expr)              \
  do {                                         \
    absl::Status phx_status_ = (expr);         \
    if (!phx_status_.ok()) return phx_status_; \
  } while (false)

// Evaluates `expr` (an absl::StatusOr<T>) once; assigns its value to `lhs`, which may be a
// declaration, or returns its status from the enclosing function.
#define PHX_ASSIGN_OR_RETURN(lhs, expr) \
  PHX_ASSIGN_OR_RETURN_IMPL_(PHX_CONCAT_(phx_status_or_, __LINE__), lhs, expr)

#define PHX_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expr)    \
  auto statusor = (expr);                                  \
  if (!statusor.ok()) return std::move(statusor).status(); \
  lhs = std::move(statusor).value()

#define PHX_CONCAT_(a, b) PHX_CONCAT_IMPL_(a, b)
#define PHX_CONCAT_IMPL_(a, b) a##b

#endif  // PHALANX_BASE_STATUS_MACROS_H_
