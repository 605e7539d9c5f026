#include "ops/codes/multiplied_codes.h"

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "ops/codes/declared_dims.h"
#include "ops/dims.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "ops/placed_dims.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// Whether both can be read in the layout of the result, by what the program declares.
bool LieAlike(const Dims& x, const Dims& y, int64_t axis) {
  if (x.empty() || y.empty()) return false;
  if (x.size() == y.size() || std::max(x.size(), y.size()) != 4) return true;
  if (x.size() < y.size()) return false;
  const absl::StatusOr<Dims> placed = PlacedDims(y, 4, axis);
  if (!placed.ok()) return false;
  const Dims& beside = *placed;
  return beside[1] == 1 || (beside[2] == 1 && beside[3] == 1);
}

}  // namespace

bool MultipliesCodes(const Op& op, const RunFacts& facts) {
  if (!TraitsOf(op).multiplies_elements) return false;
  const Argument* const x = op.Input("X");
  const Argument* const y = op.Input("Y");
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), facts.era());
  if (x == nullptr || y == nullptr || !attributes) return false;
  const auto are_codes = [&facts](const Argument& factor) {
    return facts.HeldFormOf(factor).kind == HeldForm::Kind::kCodes;
  };
  return are_codes(*x) && are_codes(*y) &&
         LieAlike(DeclaredDims(*x), DeclaredDims(*y), attributes->Int("axis"));
}

}  // namespace fixpoint
