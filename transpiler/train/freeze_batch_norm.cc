// freeze_batch_norm: from the step that the schedule sets, batch norm and its gradient are in test
// mode: they use the running mean and variance, which then no longer change.
//
//   batch_norm(X=x, Mean=m, ...) -> (Y=y, MeanOut=m, ...)
//   batch_norm_grad(X=x, Y@GRAD=y@GRAD, ...) -> (X@GRAD=x@GRAD, ...)
//
//   batch_norm(X=x, Mean=m, ..., Step=steps) -> (Y=y, MeanOut=m, ...) {test_from_step=100L}
//   batch_norm_grad(X=x, Y@GRAD=y@GRAD, ..., Step=steps, Mean=m, Variance=v) ->
//       (X@GRAD=x@GRAD, ...) {test_from_step=100L}

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/forward_ops.h"
#include "ops/gradient_links.h"
#include "ops/gradient_slots.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/plan/folded_weights.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/train/state_writer.h"
#include "transpiler/train/step_counter.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {
namespace {

bool IsBatchNorm(const Op& op) {
  return op.type() == "batch_norm" || op.type() == kFoldedBatchNorm;
}

class BatchNormFreezer {
 public:
  BatchNormFreezer(Program* program, TrainContext* context, absl::string_view pass)
      : program_(*program),
        from_step_(ScheduleOf(context->plan).freeze_batch_norm_from_step()),
        pass_(pass),
        rewriter_(program, pass),
        state_(program, context, &rewriter_) {}

  absl::Status FreezeAll() {
    const GradientLinks links(program_, {"batch_norm", kFoldedBatchNorm});
    const Era era = EraOf(program_);
    for (const Op& op : program_.ops()) {
      if (!IsBatchNorm(op) || !IsForward(op)) continue;
      RETURN_IF_ERROR(Freeze(op));
      for (const Op* gradient : links.GradientsOf(op)) {
        RETURN_IF_ERROR(Freeze(*gradient));
        if (op.type() == kFoldedBatchNorm) continue;  // it reads the mean in both modes
        // While the statistics are the batch's own, what the forward op saved is all it needs.
        for (const RepeatedSlot& slot : RepeatedSlots(gradient->type(), op.desc(), era)) {
          if (slot.name == "Mean" || slot.name == "Variance") AddInput(*gradient, op, slot);
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Freeze(const Op& op) {
    ASSIGN_OR_RETURN(const std::string counter,
                     AddStepCounter(program_, pass_, &state_, &rewriter_));
    AddMark(op, AttributeMark(op, kTestFromStepAttr), &rewriter_);
    AddMark(op, AddedArgumentMark(kStepSlot, 0), &rewriter_);
    rewriter_.AddInput(op, kStepSlot, counter);
    rewriter_.SetAttr(op, MakeLongAttr(kTestFromStepAttr, from_step_));
    return absl::OkStatus();
  }

  void AddInput(const Op& gradient, const Op& forward, const RepeatedSlot& slot) {
    const auto statistic = SourceOf(slot, forward);
    if (statistic.empty() || gradient.Input(slot.name) != nullptr) return;
    AddMark(gradient, AddedArgumentMark(slot.name, 0), &rewriter_);
    rewriter_.AddInput(gradient, slot.name, statistic.front()->name());
  }

  Program& program_;
  const int64_t from_step_;
  const std::string pass_;
  Rewriter rewriter_;
  StateWriter state_;
};

class FreezeBatchNorm final : public StagePass<TrainContext> {
 public:
  absl::string_view name() const override { return "freeze_batch_norm"; }
  absl::string_view doc() const override {
    return "Puts batch norm in test mode from the step that the schedule sets.";
  }
  std::vector<std::string> Requires() const override { return {"quantizers_inserted", "target"}; }
  std::vector<std::string> Establishes() const override { return {"batch_norm_scheduled"}; }
  std::vector<std::string> ComesBefore() const override { return {"state_initialized"}; }
  // The plan does not cover ops that are not quantized.
  bool IsHeldToPlan() const override { return false; }

  absl::Status RunIn(Program& program, TrainContext& context) const override {
    if (!ScheduleOf(context.plan).has_freeze_batch_norm_from_step()) return absl::OkStatus();
    return BatchNormFreezer(&program, &context, name()).FreezeAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFreezeBatchNorm() { return std::make_unique<FreezeBatchNorm>(); }

}  // namespace fixpoint
