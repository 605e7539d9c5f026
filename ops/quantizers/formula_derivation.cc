#include "ops/quantizers/formula_derivation.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/formula_gradient.h"
#include "ops/op_schema.h"
#include "ops/quantizers/formula_links.h"
#include "ops/quantizers/formula_ops.h"
#include "ops/quantizers/formula_words.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using Ops = std::vector<OpDesc>;

constexpr char kSurrogateResult[] = "surrogate_out";

void Rename(const std::string& from, const std::string& to, OpDesc* op) {
  for (auto* slots : {op->mutable_inputs(), op->mutable_outputs()}) {
    for (OpDesc::Var& slot : *slots) {
      std::replace(slot.mutable_arguments()->begin(), slot.mutable_arguments()->end(), from, to);
    }
  }
}

// The error of a gradient that cannot be derived, at the op that hinders.
absl::Status WhyNotDerived(const QuantizerText& text, const Formula& formula,
                           const absl::Status& status) {
  const OpDesc* const op = FindOpWithoutGradient(formula);
  if (op == nullptr) {
    return text.Error(text.line,
                      absl::StrCat("its gradient cannot be derived: ", status.message()));
  }
  const auto& section = text.surrogate.ops.empty() ? text.forward : text.surrogate;
  int line = text.line;
  for (size_t i = 0; i < section.ops.size(); ++i) {
    if (ResultOf(section.ops[i]) == ResultOf(*op)) line = section.lines[i];
  }
  return text.Error(
      line, absl::StrCat("the gradient of ", op->type(), " is not known, so that that of ",
                         Quantizer::kResult, " cannot be derived; ", kStraightThroughAttr,
                         "=true passes it on unchanged, ", kStopGradientAttr, "=true passes none"));
}

// By AppendBackward, for which rounding that is passed straight through is a copy.
absl::StatusOr<Ops> Derive(const QuantizerText& text, const Ops& forward, Era era) {
  Formula formula;
  formula.result = Quantizer::kResult;
  formula.inputs = {Quantizer::kValue};
  for (const QuantizerText::State& state : text.states) {
    if (state.is_trained) formula.inputs.push_back(state.name);
  }
  absl::flat_hash_map<std::string, OpDesc> rounding;
  for (const OpDesc& op : forward) {
    if (BoolAttr(op, kStopGradientAttr) == true) {
      ForEachOutput(op, [&](const std::string& name) { formula.constants.push_back(name); });
    }
    if (BoolAttr(op, kStraightThroughAttr) == true) {
      rounding.emplace(ResultOf(op), op);
      formula.ops.push_back(
          OpBuilder("assign").Input("X", NameInSlot(op, "X")).Output("Out", ResultOf(op)).Build());
    } else {
      formula.ops.push_back(WithoutWords(op));
    }
  }
  for (const QuantizerText::State& state : text.states) {
    if (!state.is_trained) formula.constants.push_back(state.name);
  }
  for (const absl::string_view number : NumbersOfSpec()) formula.constants.emplace_back(number);
  for (const QuantizerParameter& setting : text.settings) {
    formula.constants.push_back(setting.name);
  }
  absl::StatusOr<Ops> ops = GradientOpsOf(formula, era);
  if (!ops.ok()) return WhyNotDerived(text, formula, ops.status());
  for (OpDesc& op : *ops) {
    const auto found = rounding.find(ResultOf(op));
    if (found != rounding.end()) op = found->second;
  }
  return ops;
}

absl::Status CheckGradients(const QuantizerText& text, const Ops& ops) {
  const absl::flat_hash_set<std::string> written = NamesWrittenBy(ops);
  const auto check = [&](const std::string& name, int line) {
    if (written.contains(name)) return absl::OkStatus();
    return text.Error(
        line, absl::StrCat("nothing computes ", name, ": no path with a gradient leads from ",
                           Quantizer::kResult, " to it"));
  };
  RETURN_IF_ERROR(check(Quantizer::kValueGradient, text.line));
  for (const QuantizerText::State& state : text.states) {
    if (!state.is_trained) continue;
    RETURN_IF_ERROR(check(absl::StrCat(state.name, kGradientSuffix), state.line));
  }
  return absl::OkStatus();
}

// Leaves out the ops that a program has already: those of the forward section. Error: an op
// writes a name of theirs, and is another.
absl::StatusOr<Ops> WithoutOpsOf(const QuantizerText& text, const Ops& of_program, Ops ops) {
  absl::flat_hash_map<std::string, const OpDesc*> in_program;
  for (const OpDesc& op : of_program) in_program[ResultOf(op)] = &op;
  Ops others;
  for (OpDesc& op : ops) {
    if (ResultOf(op) == Quantizer::kResult && QuantizesFormula(op)) continue;
    // What a surrogate ends with is not the program's result, but close to it.
    if (!text.surrogate.ops.empty()) Rename(Quantizer::kResult, kSurrogateResult, &op);
    const auto found = in_program.find(ResultOf(op));
    if (found == in_program.end()) {
      others.push_back(std::move(op));
    } else if (PrintOp(*found->second) != PrintOp(op)) {
      return text.Error(text.line,
                        absl::StrCat("the surrogate computes \"", ResultOf(op),
                                     "\" in another way than forward; want another name"));
    }
  }
  return others;
}

}  // namespace

absl::StatusOr<Ops> DeriveGradient(const QuantizerText& text, const QuantizerUse& use,
                                   const Ops& of_program) {
  FormulaOps filler(text, use);
  ASSIGN_OR_RETURN(const Ops forward, filler.Fill(text.forward));
  Ops ops;
  if (!text.surrogate.ops.empty()) {
    ASSIGN_OR_RETURN(const Ops surrogate, FormulaOps(text, use).Fill(text.surrogate));
    ASSIGN_OR_RETURN(ops, Derive(text, surrogate, use.era));
  } else if (text.gradient.ops.empty()) {
    ASSIGN_OR_RETURN(ops, Derive(text, forward, use.era));
  } else {
    ASSIGN_OR_RETURN(const Ops given, filler.Fill(text.gradient));
    ops = OpsThatWrite(forward, NamesReadBy(given));
    ops.insert(ops.end(), given.begin(), given.end());
  }
  RETURN_IF_ERROR(CheckGradients(text, ops));
  return WithoutOpsOf(text, of_program, OpsWithoutWords(ops));
}

}  // namespace fixpoint
