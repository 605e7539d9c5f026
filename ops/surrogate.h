// What the gradient of rounding to codes is the gradient of. Rounding itself has none: a surrogate
// that has one stands for it, in which rounding adds a constant.

#ifndef FIXPOINT_OPS_SURROGATE_H_
#define FIXPOINT_OPS_SURROGATE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// With u the value in steps, q its code, and `lowest` to `largest` the codes. Inside, the value has
// the gradient of the result; outside, none, and the step has the code times it.
enum class Surrogate {
  // Inside is lowest < u < largest, where the step has q - u times the gradient (LSQ, Esser et al.
  // 2020, arXiv 1902.08153).
  kClampThenRound,
  // The same, where inside is lowest <= round(u) <= largest (TQT, Jain et al. 2019, arXiv
  // 1903.08066).
  kRoundThenClamp,
  // Inside as the first, where the step has no gradient: that of clamping alone (PACT, Choi et al.
  // 2018, arXiv 1805.06085).
  kClamp,
};

inline constexpr char kSurrogateAttr[] = "surrogate";

// By the value of that attribute. Error (kInvalidArgument): another one.
inline absl::StatusOr<Surrogate> SurrogateOf(absl::string_view name) {
  if (name == "clamp_then_round") return Surrogate::kClampThenRound;
  if (name == "round_then_clamp") return Surrogate::kRoundThenClamp;
  if (name == "clamp") return Surrogate::kClamp;
  return absl::InvalidArgumentError(absl::StrCat(
      kSurrogateAttr, " is \"", name, "\"; want clamp_then_round, round_then_clamp or clamp"));
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_SURROGATE_H_
