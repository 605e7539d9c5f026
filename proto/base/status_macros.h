// Early returns for absl::Status and absl::StatusOr.

#ifndef FIXPOINT_PROTO_BASE_STATUS_MACROS_H_
#define FIXPOINT_PROTO_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function if `expr`, an absl::Status, is an error.
#define RETURN_IF_ERROR(expr)                                               \
  do {                                                                      \
    if (absl::Status returned_if_error = (expr); !returned_if_error.ok()) { \
      return returned_if_error;                                             \
    }                                                                       \
  } while (false)

// Assigns the value of `expr`, an absl::StatusOr, to `lhs` (which may declare a variable), or
// returns its error from the enclosing function.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_(FIXPOINT_CONCAT_(status_or_, __LINE__), lhs, expr)

#define ASSIGN_OR_RETURN_(status_or, lhs, expr) \
  auto status_or = (expr);                      \
  if (!status_or.ok()) {                        \
    return std::move(status_or).status();       \
  }                                             \
  lhs = *std::move(status_or)

#define FIXPOINT_CONCAT_(a, b) FIXPOINT_CONCAT_AGAIN_(a, b)
#define FIXPOINT_CONCAT_AGAIN_(a, b) a##b

#endif  // FIXPOINT_PROTO_BASE_STATUS_MACROS_H_
