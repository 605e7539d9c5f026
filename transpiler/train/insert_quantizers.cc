// insert_quantizers: writes the plan's quantizers into the program and points their readers at
// them. For a plan that quantizes x and w for a convolution:
//
//   conv2d(Filter=w, Input=x) -> (Output=y)
//   conv2d_grad(Filter=w, Input=x, Output@GRAD=y@GRAD) -> (Filter@GRAD=w@GRAD, Input@GRAD=x@GRAD)
//
//   fake_quantize_abs_max(X=x) -> (Out=x.quantized, OutScale=x.scale)
//   fake_dequantize_max_abs(X=x.quantized, Scale=x.scale) -> (Out=x.quantized.dequantized)
//   ... the same for w ...
//   conv2d(Filter=w.quantized.dequantized, Input=x.quantized.dequantized) -> (Output=y)
//   conv2d_grad(Filter=w.quantized.dequantized, Input=x.quantized.dequantized,
//               Output@GRAD=y@GRAD) -> (Filter@GRAD=w@GRAD, Input@GRAD=x@GRAD)
//
// Gradients still go to the float variables (straight-through estimator, Bengio et al. 2013, arXiv
// 1308.3432), and the optimizer's ops are not touched.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/program/program.h"
#include "transpiler/plan/quantizing_pass.h"
#include "transpiler/train/quantizer_writer.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {
namespace {

class InsertQuantizers final : public StagePass<TrainContext> {
 public:
  absl::string_view name() const override { return kQuantizingPass; }
  absl::string_view doc() const override {
    return "Writes the plan's quantizers into the program and points their readers at them.";
  }
  std::vector<std::string> Requires() const override { return {"planned", "target"}; }
  std::vector<std::string> Establishes() const override { return {"quantizers_inserted"}; }
  std::vector<std::string> Consumes() const override { return {"planned"}; }

  absl::Status RunIn(Program& program, TrainContext& context) const override {
    QuantizerWriter writer(&program, &context, name());
    return writer.WriteAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeInsertQuantizers() { return std::make_unique<InsertQuantizers>(); }

}  // namespace fixpoint
