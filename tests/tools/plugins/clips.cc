// A plugin as a user writes one: a pass that puts relu6 before products, a quantizer, and checks of
// targets.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "tests/testing/norm_quantizer.h"
#include "transpiler/extensions/plugin.h"
#include "transpiler/pipeline/read_replacer.h"

namespace fixpoint {
namespace {

// Before:
//   mul(X=x, Y=w) -> (Out=y)
//   mul_grad(X=x, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD)
//
// After:
//   relu6(X=x) -> (Out=x.clipped)
//   mul(X=x.clipped, Y=w) -> (Out=y)
//   mul_grad(X=x.clipped, Y=w, Out@GRAD=y@GRAD) -> (Y@GRAD=w@GRAD)
class ClipInputs : public Pass {
 public:
  absl::string_view name() const override { return "clip_inputs"; }
  absl::string_view doc() const override { return "Puts relu6 before each mul."; }
  std::vector<std::string> ComesBefore() const override { return {"planned"}; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext&) const override {
    Rewriter rewriter(&program, name());
    ReadReplacer reads(program, &rewriter);
    for (const Op& op : program.block(0).ops()) {
      if (op.type() == "mul") RETURN_IF_ERROR(Clip(op, rewriter, reads));
    }
    return absl::OkStatus();
  }

 protected:
  virtual absl::Status Redirect(const Argument& read, const Value& clipped, Rewriter&,
                                ReadReplacer& reads) const {
    return reads.Replace({&read}, clipped);
  }

 private:
  absl::Status Clip(const Op& mul, Rewriter& rewriter, ReadReplacer& reads) const {
    const Argument& x = *mul.Input("X");
    ASSIGN_OR_RETURN(
        const Variable* clipped,
        rewriter.AddVariable(
            mul.block(),
            MakeTensorVar(rewriter.FreshName(absl::StrCat(std::string(x.name()), ".clipped")),
                          VarType::FP32, x.variable()->tensor()->dims())));
    const Op& clip = rewriter.InsertBefore(
        mul, OpBuilder("relu6").Input("X", x.name()).Output("Out", clipped->name()).Build());
    return Redirect(x, *clip.Output("Out")->value(), rewriter, reads);
  }
};

// Forgets the gradient ops.
class ClipInputsAlone final : public ClipInputs {
 public:
  absl::string_view name() const override { return "clip_inputs_alone"; }

 protected:
  absl::Status Redirect(const Argument& read, const Value& clipped, Rewriter& rewriter,
                        ReadReplacer&) const override {
    return rewriter.RedirectReads({&read}, clipped);
  }
};

class KeepsWide final : public TargetCheck {
 public:
  absl::string_view name() const override { return "keeps_wide"; }
  absl::string_view doc() const override { return "Weights of more than 8 rows stay float."; }
  CheckVerdict Check(const Program&, const Op&, absl::Span<const SlotPlan> inputs) const override {
    for (const SlotPlan& input : inputs) {
      if (input.role == SlotRole::WEIGHT && input.argument->variable()->tensor()->dims(0) > 8) {
        return CheckVerdict::KeepFloat("the weight has more than 8 rows");
      }
    }
    return CheckVerdict::Quantize();
  }
};

class RefusesTanh final : public TargetCheck {
 public:
  absl::string_view name() const override { return "refuses_tanh"; }
  absl::string_view doc() const override { return "Programs with tanh before a product."; }
  CheckVerdict Check(const Program&, const Op&, absl::Span<const SlotPlan> inputs) const override {
    const Op* const writer = inputs[0].argument->value()->op();
    return writer != nullptr && writer->type() == "tanh"
               ? CheckVerdict::Refuse("a tanh comes before it")
               : CheckVerdict::Quantize();
  }
};

absl::Status Extend(Extensions& extensions) {
  RETURN_IF_ERROR(extensions.AddPass(&std::make_unique<ClipInputs>));
  RETURN_IF_ERROR(extensions.AddPass(&std::make_unique<ClipInputsAlone>));
  RETURN_IF_ERROR(extensions.AddQuantizer(&std::make_unique<NormQuantizer>));
  RETURN_IF_ERROR(extensions.AddCheck(std::make_unique<KeepsWide>()));
  return extensions.AddCheck(std::make_unique<RefusesTanh>());
}

}  // namespace
}  // namespace fixpoint

FIXPOINT_PLUGIN(fixpoint::Extend);
