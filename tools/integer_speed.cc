#include "tools/integer_speed.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "ops/code_ops.h"
#include "ops/codes/held_codes.h"
#include "ops/era.h"
#include "ops/op_traits.h"
#include "proto/program/program.h"
#include "runtime/kernels/instruction_set.h"

namespace fixpoint {
namespace {

// Whether an operand is codes of 8 bits, or floats that stand for such codes.
bool IsOfByteCodes(const Argument* operand, Era era) {
  if (operand == nullptr || operand->variable() == nullptr) return false;
  const VarType::TensorDesc* const tensor = operand->variable()->tensor();
  if (tensor != nullptr && IsCodeDtype(tensor->data_type())) return true;
  const Value* const value = operand->value();
  if (value == nullptr || value->origin() != Value::Origin::kWrite) return false;
  const std::optional<CodeOp> made = ReadCodeOp(*value->op(), era);
  return made && !made->only_observes && CodesHeldOf(*made, /*is_never_negative=*/true);
}

bool MultipliesByteCodes(const Program& program) {
  const Era era = EraOf(program);
  const auto ops = program.ops();
  return std::any_of(ops.begin(), ops.end(), [era](const Op& op) {
    const std::optional<ProductTrait>& product = TraitsOf(op).product;
    return product && IsOfByteCodes(op.Input(product->activation), era) &&
           IsOfByteCodes(op.Input(product->weight), era);
  });
}

}  // namespace

std::string IntegerSpeedNote(const Program& program, const std::string& path) {
  if (kernels::HasExactIntegerProducts() || kernels::AddsPairsOfProducts() ||
      !MultipliesByteCodes(program)) {
    return "";
  }
  return absl::StrCat("note: ", path,
                      ": this machine has no AVX2, so that integers of 8 bits are multiplied as "
                      "floats: the results are the same, and take longer than those of the float "
                      "program\n");
}

}  // namespace fixpoint
