// set_test_mode: puts every op that has a test mode in it, and removes from quantize ops and
// observers the state that only training uses, together with the step counter:
//
//   increment(X=steps) -> (Out=steps) {step=1.0}
//   fake_quantize_range_abs_max(InScale=s, Iter=steps, X=x) -> (Out=q, OutScale=s,
//   OutScales=window)
//
//   fake_quantize_range_abs_max(InScale=s, X=x) -> (Out=q, OutScale=s) {is_test=true}
//
// Everything that a schedule starts at some step counts as started: quantized values are read, and
// no op reads the step. A batch norm that is folded into a weight adds a bias
// (folded_batch_norm.h). What training dithers is read as it is.
//
// A quantizer that finds its range anew from each tensor has no test mode: its is_test would read
// the range of the last training step, which the last update of the weights made stale.

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/folded_batch_norm.h"
#include "transpiler/freeze/test_mode.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/plan/folded_weights.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {
namespace {

constexpr char kDither[] = "dither";
constexpr char kIncrement[] = "increment";

class TestModeSetter {
 public:
  TestModeSetter(Program* program, const PassContext& context, absl::string_view pass)
      : program_(*program),
        era_(EraOf(*program)),
        quantizers_(context.quantizers),
        pass_(pass),
        rewriter_(program, pass) {}

  absl::Status SetAll() {
    for (const Op& op : program_.ops()) {
      if (op.type() == kSelectFromStep || op.type() == kDither) {
        RETURN_IF_ERROR(ReadSelected(op));
      } else if (op.type() == kFoldedBatchNorm) {
        NoteCounters(op.Inputs(kStepSlot));
        RETURN_IF_ERROR(PutInTestMode(op, pass_, &program_));
      } else if (op.type() == kIncrement) {
        // What read the count may have been part of training.
        if (op.FindAttr(kInsertedByAttr) != nullptr) NoteCounters(op.inputs());
      } else {
        Set(op);
      }
    }
    for (const Variable* counter : counters_) RemoveCounter(*counter);
    return absl::OkStatus();
  }

 private:
  void Set(const Op& op) {
    DropSchedule(op);
    QuantizerTable::Match match = quantizers_.FindByQuantizeOp(op.desc());
    if (match.recipe == nullptr) match = quantizers_.FindByObserveOp(op.type());
    if (match.recipe != nullptr) {
      DropTrainingState(op, *match.recipe);
      if (match.recipe->has_is_test) SetIsTest(op);
    } else if (IsQuantize(op, quantizers_)) {
      if (!FindsItsRange(op, quantizers_)) SetQuantizeLinear(op);
    } else if (HasTestMode(op, era_)) {
      SetIsTest(op);
    }
  }

  // Makes readers of a value that is quantized from some step on read the quantized value, and
  // those of a dithered value the value. Error (kFailedPrecondition): at a reader, the quantized
  // variable's name means another variable, or one that is written more than once.
  absl::Status ReadSelected(const Op& select) {
    const Argument* selected = select.Input("X");
    const Argument* out = select.Output("Out");
    if (selected == nullptr || out == nullptr || selected->variable() == nullptr ||
        out->value() == nullptr) {
      return absl::OkStatus();
    }
    NoteCounters(select.Inputs(kStepSlot));
    const Variable& variable = *selected->variable();
    const auto& readers = out->value()->readers();
    const bool is_state = &variable == out->variable();  // which is then read unchanged
    const std::vector<const Argument*> to_redirect(is_state ? readers.end() : readers.begin(),
                                                   readers.end());
    for (const Argument* reader : to_redirect) {
      if (variable.values().size() == 1 && CanName(program_, reader->op(), variable)) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          DescribeInFile(reader->op()), ": is to read \"", variable.name(), "\", which ",
          Describe(select), " selects, and which is ",
          variable.values().size() == 1 ? "another variable there" : "written more than once"));
    }
    RETURN_IF_ERROR(rewriter_.RedirectReads(to_redirect, variable));
    rewriter_.Remove(select);
    return absl::OkStatus();
  }

  void DropSchedule(const Op& op) {
    if (op.FindAttr(kTestFromStepAttr) == nullptr) return;
    NoteCounters(op.Inputs(kStepSlot));
    rewriter_.RemoveInputs(op, kStepSlot);
    rewriter_.RemoveAttr(op, kTestFromStepAttr);
  }

  void NoteCounters(absl::Span<const Argument* const> counters) {
    for (const Argument* counter : counters) {
      const Variable* variable = counter->variable();
      if (variable != nullptr && seen_.insert(variable).second) counters_.push_back(variable);
    }
  }

  void SetIsTest(const Op& op) {
    const OpDesc::Attr* attr = op.FindAttr(kIsTest);
    if (attr == nullptr || BoolValue(*attr) != true) {
      rewriter_.SetAttr(op, MakeBoolAttr(kIsTest, true));
    }
  }

  void SetQuantizeLinear(const Op& op) {
    SetIsTest(op);
    for (const char* slot : {"State", "Accum"}) {
      rewriter_.RemoveInputs(op, absl::StrCat("In", slot));
      rewriter_.RemoveOutputs(op, absl::StrCat("Out", slot));
    }
    rewriter_.RemoveOutputs(op, "OutScale");
  }

  void DropTrainingState(const Op& op, const QuantizerRecipe& recipe) {
    for (const QuantizerState& state : recipe.state) {
      if (!state.training_only) continue;
      if (!state.input.empty()) rewriter_.RemoveInputs(op, state.input);
      if (!state.output.empty()) rewriter_.RemoveOutputs(op, state.output);
    }
    if (recipe.step_counter_input.empty()) return;
    NoteCounters(op.Inputs(recipe.step_counter_input));
    rewriter_.RemoveInputs(op, recipe.step_counter_input);
  }

  // Removes the ops that count steps, unless something else reads the count or the ops do more.
  void RemoveCounter(const Variable& counter) {
    std::vector<const Op*> increments;
    for (const Argument* argument : counter.arguments()) {
      const Op& op = argument->op();
      if (op.type() != kIncrement || !NamesOnly(op, counter)) return;
      if (increments.empty() || increments.back() != &op) increments.push_back(&op);
    }
    for (const Op* op : increments) rewriter_.Remove(*op);
  }

  static bool NamesOnly(const Op& op, const Variable& variable) {
    for (const auto arguments : {op.inputs(), op.outputs()}) {
      for (const Argument* argument : arguments) {
        if (argument->variable() != &variable) return false;
      }
    }
    return true;
  }

  Program& program_;
  const Era era_;
  const QuantizerTable& quantizers_;
  const absl::string_view pass_;
  Rewriter rewriter_;
  std::vector<const Variable*> counters_;
  absl::flat_hash_set<const Variable*> seen_;
};

class SetTestMode final : public Pass {
 public:
  absl::string_view name() const override { return "set_test_mode"; }
  absl::string_view doc() const override {
    return "Sets is_test, and removes the state of quantizers that only training uses.";
  }
  std::vector<std::string> Requires() const override { return {"training_stripped"}; }
  std::vector<std::string> Establishes() const override { return {"test_mode"}; }

  absl::Status Run(Program& program, PassContext& context) const override {
    return TestModeSetter(&program, context, name()).SetAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeSetTestMode() { return std::make_unique<SetTestMode>(); }

}  // namespace fixpoint
