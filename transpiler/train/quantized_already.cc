#include "transpiler/train/quantized_already.h"

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/op_types.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {

std::string WhoQuantized(const Program& program) {
  if (IsMarked(program)) return "the program was rewritten by Fixpoint already";
  OpTypes types(program);
  int count = 0;
  std::string first;
  for (const Op& op : program.ops()) {
    const OpSchema* schema = types.SchemaOf(op);
    if (schema == nullptr || schema->quant_op() == QuantOp::kNone ||
        schema->quant_op() == QuantOp::kObserve) {
      continue;
    }
    if (count++ == 0) first = Describe(op);
  }
  if (count == 0) return "";
  return absl::StrCat("the program was quantized by another tool already: ", count,
                      " ops quantize or dequantize, the first is ", first);
}

}  // namespace fixpoint
