#include "transpiler/plan/shortcuts.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/equal_shapes.h"

namespace fixpoint {
namespace {

constexpr std::array<absl::string_view, 5> kOfOneInput = {"batch_norm", "relu", "relu6",
                                                          "leaky_relu", "hard_swish"};

}  // namespace

bool Shortcuts::IsOnlyReader(const Argument& reader) {
  const Value& value = *reader.value();
  const auto readers = value.readers();
  return value.written_by() != nullptr && !value.variable().persistable() &&
         std::none_of(readers.begin(), readers.end(), [&](const Argument* other) {
           return other != &reader && types_.IsForward(other->op());
         });
}

const Argument* Shortcuts::InputOf(const Op& op) {
  if (std::find(kOfOneInput.begin(), kOfOneInput.end(), op.type()) != kOfOneInput.end()) {
    return op.Input("X");
  }
  const Argument* const bias = op.type() == "elementwise_add" ? op.Input("Y") : nullptr;
  const bool is_parameter =
      bias != nullptr && bias->value() != nullptr && eligibility_.IsWeight(*bias->value());
  return is_parameter ? op.Input("X") : nullptr;
}

bool Shortcuts::IsResult(const Argument& input) {
  const Argument* at = &input;
  while (at != nullptr && at->value() != nullptr && IsOnlyReader(*at)) {
    const Op& op = *at->value()->op();
    if (&op.block() != &input.op().block()) return false;
    if (products_.contains(&op)) return true;
    at = InputOf(op);
  }
  return false;
}

const Argument* Shortcuts::Find(const Op& sum, std::string& detail) {
  const Argument* const x = sum.Input("X");
  const Argument* const y = sum.Input("Y");
  if (!HaveEqualShapes(sum)) {
    detail = "X and Y are not known to be of one shape";
    return nullptr;
  }
  const bool x_is_result = IsResult(*x);
  const bool y_is_result = IsResult(*y);
  if (!x_is_result && !y_is_result) {
    detail = "neither input is the result of a quantized product that nothing else reads";
    return nullptr;
  }
  if (!x_is_result) return x;
  if (!y_is_result) return y;
  return x->value()->op()->IsBefore(*y->value()->op()) ? x : y;
}

}  // namespace fixpoint
