// initialize_state: gives each persistable variable that a pass declared its first value, by one
// fill_constant in the startup program. For the range x@scale of an activation x:
//
//   uniform_random() -> (Out=w) {shape=[2L, 1L, 3L, 3L]}
//
//   uniform_random() -> (Out=w) {shape=[2L, 1L, 3L, 3L]}
//   fill_constant() -> (Out=x@scale) {shape=[1L], dtype=5, value=0.001}

#include <memory>
#include <string>
#include <vector>

#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {
namespace {

class InitializeState final : public StagePass<TrainContext> {
 public:
  absl::string_view name() const override { return "initialize_state"; }
  absl::string_view doc() const override {
    return "Initialises each new persistable variable once in the startup program.";
  }
  std::vector<std::string> Requires() const override {
    return {"quantizers_inserted", "startup_program"};
  }
  std::vector<std::string> Establishes() const override { return {"state_initialized"}; }

  absl::Status RunIn(Program&, TrainContext& context) const override {
    Program& startup = context.startup;
    Rewriter rewriter(&startup, name());
    const Block& block = startup.block(0);
    for (const NewState& state : context.new_state) {
      const VarType::TensorDesc& tensor = *state.variable->tensor();
      RETURN_IF_ERROR(rewriter
                          .AddTensor(block, state.variable->name(), tensor.data_type(),
                                     tensor.dims(), /*persistable=*/true)
                          .status());
      rewriter.Append(block, rewriter.New("fill_constant")
                                 .Output("Out", state.variable->name())
                                 .LongsAttr("shape", tensor.dims())
                                 .IntAttr("dtype", tensor.data_type())
                                 .FloatAttr("value", static_cast<float>(state.initial_value))
                                 .BoolAttr("force_cpu", tensor.data_type() == VarType::INT64)
                                 .IntAttr("op_role", kForward)
                                 .StringAttr(kInsertedByAttr, name()));
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeInitializeState() { return std::make_unique<InitializeState>(); }

}  // namespace fixpoint
