#include "transpiler/report/quantization_summary.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "ops/op_schema.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/plan/parameters.h"

namespace fixpoint {
namespace {

bool DequantizesCodesOfAQuantizer(const Op& op) {
  const Argument* const codes = FindCodeArguments(op).input;
  if (codes == nullptr || codes->value() == nullptr) return false;
  const Value& value = *codes->value();
  return value.origin() == Value::Origin::kWrite && QuantOpOf(*value.op()) == QuantOp::kQuantize;
}

int BitsOf(const Op& op, Era era) {
  const absl::StatusOr<int> bits = ReadBits(op.desc(), era, /*otherwise=*/0, kLeastBitsOfOps);
  return bits.ok() ? *bits : 0;
}

// Recognised by the names that the reference's rewriters give their variables, and the attributes
// that they set.
class WriterFinder {
 public:
  void Add(const Op& op, QuantOp quant_op) {
    static_graph_ |= op.FindAttr("quantization_type") != nullptr;
    if (quant_op != QuantOp::kQuantize && quant_op != QuantOp::kQuantizeDequantize) return;
    const Argument* input = op.Input("X");
    const Argument* result = op.Output("Out");
    if (input == nullptr || result == nullptr) return;
    const bool fused = quant_op == QuantOp::kQuantizeDequantize;
    const bool named =
        result->name() == absl::StrCat(input->name(), ".quantized", fused ? ".dequantized" : "");
    (fused ? dygraph_ : transpiler_) |= named;
  }

  std::string Writer() const {
    if (static_graph_) return "PaddlePaddle's static graph passes";
    if (transpiler_) return "PaddlePaddle's QuantizeTranspiler";
    if (dygraph_) return "PaddlePaddle's dygraph layers";
    return "another tool";
  }

 private:
  bool static_graph_ = false;
  bool transpiler_ = false;
  bool dygraph_ = false;
};

std::string Ours(const Program& program) {
  QuantPlan plan;
  if (!plan.ParsePartialFromString(program.Proto().edit_log().plan()) || plan.target().empty()) {
    return "Fixpoint";
  }
  return absl::StrCat("Fixpoint, target ", plan.target());
}

void Count(const Op& op, bool is_weight, Era era, std::vector<QuantizationSummary::Count>* counts) {
  const int bits = BitsOf(op, era);
  auto count = std::find_if(counts->begin(), counts->end(), [&](const auto& known) {
    return known.op_type == op.type() && known.bits == bits;
  });
  if (count == counts->end()) count = counts->insert(count, {op.type(), bits, 0, 0});
  ++(is_weight ? count->weights : count->activations);
}

}  // namespace

QuantizationSummary SummarizeQuantization(const Program& program) {
  QuantizationSummary summary;
  WriterFinder writer;
  Parameters parameters;
  for (const Op& op : program.ops()) {
    const QuantOp quant_op = QuantOpOf(op);
    writer.Add(op, quant_op);
    if (quant_op == QuantOp::kNone ||
        (quant_op == QuantOp::kDequantize && DequantizesCodesOfAQuantizer(op))) {
      continue;
    }
    const Argument* const input = FindCodeArguments(op).input;
    const bool is_weight =
        input != nullptr && input->value() != nullptr && parameters.IsWeight(*input->value());
    Count(op, is_weight, EraOf(program), &summary.counts);
  }
  if (IsMarked(program)) {
    summary.writer = Ours(program);
  } else if (!summary.counts.empty()) {
    summary.writer = writer.Writer();
  }
  return summary;
}

}  // namespace fixpoint
