#include "transpiler/freeze/inference_invariants.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/code_ops.h"
#include "ops/forward_ops.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "transpiler/freeze/test_mode.h"
#include "transpiler/pipeline/captures.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {
namespace {

class Check {
 public:
  Check(const Program& program, const FreezeContext& context)
      : program_(program), context_(context), era_(EraOf(program)), removed_writers_(program) {
    fed_.insert(context.feeds.begin(), context.feeds.end());
  }

  absl::Status TestProgram() {
    ForEachOp([this](const Op& op) { CheckOp(op); });
    return Result();
  }

  absl::Status FrozenProgram() {
    ForEachOp([this](const Op& op) {
      CheckOp(op);
      CheckFrozenOp(op);
      CheckCaptures(op);
    });
    if (context_.form == FrozenForm::kPortable) {
      const absl::Status sites = FindQuantizationSites(program_, context_.quantizers).status();
      if (!sites.ok()) Violated(5, std::string(sites.message()));
    }
    return Result();
  }

 private:
  template <typename Visit>
  void ForEachOp(Visit visit) {
    for (const Op& op : program_.ops()) visit(op);
  }

  template <typename... Parts>
  void Violated(int invariant, const Parts&... parts) {
    violations_.push_back(
        absl::StrCat("invariant ", invariant, " of programs for inference: ", parts...));
  }

  absl::Status Result() const {
    if (violations_.empty() && refusals_.empty()) return absl::OkStatus();
    if (violations_.empty()) {
      return absl::FailedPreconditionError(absl::StrJoin(refusals_, "\n"));
    }
    return absl::InternalError(absl::StrCat(program_.name(), program_.name().empty() ? "" : ": ",
                                            absl::StrJoin(violations_, "\n")));
  }

  void CheckOp(const Op& op) {
    if (!IsForwardRole(op.role())) {
      Violated(1, Describe(op), " is of training: its op_role is ", op.role());
    }
    if (HasTestMode(op, era_) && IsTest(op.desc(), era_) == false &&
        !FindsItsRange(op, context_.quantizers)) {
      Violated(2, Describe(op), " is in training mode");
    }
    for (const Argument* input : op.inputs()) CheckRead(op, *input);
  }

  void CheckRead(const Op& op, const Argument& input) {
    const Op* writer = removed_writers_.WriterOf(input);
    if (writer == nullptr || fed_.contains(input.name())) return;
    if (!IsForwardRole(writer->role())) {
      // strip_training has already refused later reads in its block.
      refusals_.push_back(absl::StrCat(program_.name(), program_.name().empty() ? "" : ": ",
                                       removed_writers_.Check(input).message()));
      return;
    }
    Violated(3, Describe(op), " reads \"", std::string(input.name()),
             "\", which a removed op computed");
  }

  void CheckFrozenOp(const Op& op) {
    const QuantOp quant_op = QuantOpOf(op);
    if (quant_op == QuantOp::kObserve) Violated(4, Describe(op), " observes");
    if (quant_op != QuantOp::kQuantize && quant_op != QuantOp::kQuantizeDequantize) return;
    const Argument* x = FindCodeArguments(op).input;
    if (x != nullptr && x->value() != nullptr && parameters_.IsWeight(*x->value())) {
      Violated(4, Describe(op), " quantizes the parameter \"", std::string(x->name()), "\"");
    }
    if (quant_op == QuantOp::kQuantize && context_.form != FrozenForm::kPortable) {
      CheckProductsOf(op);
    }
  }

  void CheckCaptures(const Op& op) {
    const absl::string_view slot = CaptureSlot(op);
    if (slot.empty()) return;
    std::vector<std::string> listed;
    for (const Argument* argument : op.Inputs(slot)) listed.emplace_back(argument->name());
    const std::vector<std::string> wanted = CapturesOf(op);
    if (listed == wanted) return;
    Violated(6, Describe(op), " captures [", absl::StrJoin(listed, ", "), "]; want [",
             absl::StrJoin(wanted, ", "), "]");
  }

  void CheckProductsOf(const Op& quantize) {
    for (const Argument* result : quantize.outputs()) {
      if (result->slot_name() != "Out" || result->value() == nullptr) continue;
      for (const Argument* reader : result->value()->readers()) {
        const Op& op = reader->op();
        // A loop passes codes to its block.
        if (QuantOpOf(op) != QuantOp::kDequantize && op.sub_blocks().empty()) CheckProduct(op);
      }
    }
  }

  void CheckProduct(const Op& product) {
    for (const Argument* output : product.outputs()) {
      if (output->value() == nullptr) continue;
      for (const Argument* reader : output->value()->readers()) {
        if (QuantOpOf(reader->op()) == QuantOp::kDequantize) continue;
        Violated(5, Describe(reader->op()), " reads \"", std::string(output->name()),
                 "\", a product of codes");
      }
    }
  }

  const Program& program_;
  const FreezeContext& context_;
  const Era era_;
  Parameters parameters_;
  const RemovedWriters removed_writers_;
  absl::flat_hash_set<std::string> fed_;
  std::vector<std::string> violations_;
  std::vector<std::string> refusals_;  // causes that no program for inference can be made
};

}  // namespace

absl::Status CheckTestProgram(const Program& program, const FreezeContext& context) {
  return Check(program, context).TestProgram();
}

absl::Status CheckFrozenProgram(const Program& program, const FreezeContext& context) {
  return Check(program, context).FrozenProgram();
}

}  // namespace fixpoint
