#include "runtime/shared_program.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/norm_factors.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"

namespace fixpoint {
namespace {

// Whether an op computes by statistics that it reads and does not change.
bool UsesWhatItReads(const Op& op, Era era) {
  const bool is_test = IsTest(op.desc(), era) == true;
  const std::optional<StageTrait>& stage = TraitsOf(op).stage;
  if (!stage || !stage->normalizes) return is_test;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(op.desc(), era);
  return attributes && UsesGivenStatistics(*attributes, is_test);
}

// Such an op passes on the statistics that it reads besides X.
bool HandsOn(const Op& op, const Variable& written, Era era) {
  return UsesWhatItReads(op, era) &&
         std::any_of(op.inputs().begin(), op.inputs().end(), [&](const Argument* input) {
           return input->variable() == &written && input->slot_name() != "X";
         });
}

// Whether ops write the variable, and none reads what it held before, even after a loop or a
// conditional: for example, a range that a quantizer finds anew in each run.
bool IsOfOneRun(const Variable& variable) {
  bool is_written = false;
  for (const Value* value : variable.values()) {
    switch (value->origin()) {
      case Value::Origin::kWrite:
        is_written = is_written || !IsFetch(*value->op());
        break;
      case Value::Origin::kEntry:
        if (!value->readers().empty()) return false;
        break;
      case Value::Origin::kLoopHead:
      case Value::Origin::kExit:
        return false;
    }
  }
  return is_written;
}

}  // namespace

void DropPersistableOfOneRun(Program* program) {
  Rewriter rewriter(program, "predictor");
  for (int b = 0; b < program->block_count(); ++b) {
    for (const Variable* variable : program->block(b).variables()) {
      if (!variable->persistable() || !IsOfOneRun(*variable)) continue;
      VarDesc desc = *variable->desc();
      desc.clear_persistable();
      rewriter.SetVariable(*variable, std::move(desc));
    }
  }
}

absl::Status CheckWritesNoParameters(const Program& program) {
  const Era era = EraOf(program);
  for (const Op& op : program.ops()) {
    if (IsFetch(op)) continue;
    for (const Argument* output : op.outputs()) {
      const Variable* variable = output->variable();
      if (variable == nullptr || !variable->persistable() || HandsOn(op, *variable, era)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(DescribeInFile(op), ": writes the parameter \"", variable->name(),
                       "\"; want a program of inference, as transpile --mode=test and "
                       "--mode=freeze make it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
