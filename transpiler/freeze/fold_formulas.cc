// fold_formulas: computes once what the formulas of quantizers compute from parameters: ranges from
// what was trained, and what is quantized from a weight. The results become parameters:
//
//   ceil(X=x@exponent) -> (Out=x.whole)
//   exp(X=x.whole) -> (Out=x.range)
//   fake_quantize_dequantize_at_range(X=x, InScale=x.range) -> (Out=y)
//
//   var x.range f32[1] persistable
//   fake_quantize_dequantize_at_range(X=x, InScale=x.range) -> (Out=y)

#include <memory>
#include <string>
#include <vector>

#include "proto/program/program.h"
#include "transpiler/freeze/folded_formulas.h"
#include "transpiler/freeze/freeze_context.h"

namespace fixpoint {
namespace {

class FoldFormulas final : public StagePass<FreezeContext> {
 public:
  absl::string_view name() const override { return "fold_formulas"; }
  absl::string_view doc() const override {
    return "Computes once what formulas of quantizers compute from parameters.";
  }
  std::vector<std::string> Requires() const override { return {"test_mode", "trained_parameters"}; }
  std::vector<std::string> ComesBefore() const override {
    return {"scales_frozen", "weights_quantized"};
  }

  absl::Status RunIn(Program& program, FreezeContext& context) const override {
    return FoldFormulaOps(name(), &program, &context.parameters, &context.notes);
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFoldFormulas() { return std::make_unique<FoldFormulas>(); }

}  // namespace fixpoint
