#include "tools/cost_forms.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tools/made_up_parameters.h"
#include "tools/named_program.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/report/lowering_account.h"

namespace fixpoint {
namespace {

// In plans a scalar is [1].
Dims PlannedDims(absl::Span<const int64_t> dims) {
  return dims.empty() ? Dims{1} : Dims(dims.begin(), dims.end());
}

// The parameters of a program, without their values.
struct DeclaredParameters {
  executor::ParameterTypes types;
  int64_t bytes = 0;
};

// Errors: those of BytesOfParameter; kInvalidArgument: no memory holds the parameters.
absl::StatusOr<DeclaredParameters> ParametersDeclaredBy(const Program& program) {
  DeclaredParameters parameters;
  for (const ParameterInfo& parameter : ParametersOf(program.Proto())) {
    ASSIGN_OR_RETURN(const int64_t bytes, BytesOfParameter(program, parameter));
    if (bytes > std::numeric_limits<int64_t>::max() - parameters.bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          program.name(), ": no memory holds the parameters, with \"", parameter.name, "\""));
    }
    parameters.types[parameter.name] = {{parameter.dtype, PlannedDims(parameter.dims)}, {}};
    parameters.bytes += bytes;
  }
  return parameters;
}

int64_t BytesIn(const Scope& scope) {
  int64_t bytes = 0;
  for (const auto& [name, value] : scope) {
    bytes += static_cast<int64_t>(std::get<Tensor>(value).bytes().size());
  }
  return bytes;
}

absl::StatusOr<PlannedForm> Planned(Program program, const executor::ParameterTypes& types,
                                    int64_t bytes, const InferenceRequest& request) {
  PlannedForm form;
  form.program = std::make_unique<const Program>(std::move(program));
  form.parameter_bytes = bytes;
  ASSIGN_OR_RETURN(form.plan, executor::PlanInference(*form.program, types, request));
  return form;
}

absl::StatusOr<PlannedForm> PlanAsGiven(const Program& program, const QuantizerTable* quantizers,
                                        const InferenceRequest& request) {
  ASSIGN_OR_RETURN(Program test, MakeTestProgram(program, quantizers));
  ASSIGN_OR_RETURN(const DeclaredParameters parameters, ParametersDeclaredBy(test));
  return Planned(std::move(test), parameters.types, parameters.bytes, request);
}

struct Lowered {
  LoweredModel model;
  QuantPlan plan;
};

// The program as it will be lowered once it is quantized like that and trained. One that is already
// quantized is used as it is: a portable program is already frozen.
absl::StatusOr<Lowered> LowerMadeUp(const Program& program, const TranspileOptions& how,
                                    const InferenceRequest& request, std::string* quantized_by) {
  Program quantized = program.Clone();
  ASSIGN_OR_RETURN(TranspileResult transpiled, Transpile(&quantized, how));
  *quantized_by = transpiled.left_alone;
  // So that errors tell its ops from those of the given program.
  if (quantized.Proto().has_edit_log() && transpiled.left_alone.empty()) {
    ASSIGN_OR_RETURN(
        quantized, Program::Create(quantized.Proto(), absl::StrCat(program.name(), ", quantized")));
  }
  FreezeOptions freeze;
  freeze.fetches = request.outputs;
  freeze.quantizers = how.quantizers;
  ASSIGN_OR_RETURN(Scope parameters, MadeUpParameters(quantized));
  absl::StatusOr<FrozenModel> frozen = Freeze(quantized, parameters, freeze);
  if (!frozen.ok()) {
    if (transpiled.left_alone.empty()) return frozen.status();
    absl::StatusOr<LoweredModel> lowered = Lower(quantized, parameters);
    if (!lowered.ok()) return frozen.status();
    return Lowered{*std::move(lowered), {}};
  }
  ASSIGN_OR_RETURN(LoweredModel lowered, Lower(frozen->program, frozen->scope));
  return Lowered{std::move(lowered), std::move(transpiled.plan)};
}

std::vector<FloatOp> FloatOpsOf(const Lowered& lowered) {
  absl::flat_hash_map<std::string, std::string> kept;  // the reason, by the op's output
  for (const QuantPlan::Decision& decision : lowered.plan.decisions()) {
    if (!decision.quantized()) kept[decision.output()] = decision.reason();
  }
  std::vector<FloatOp> floats;
  for (const LoweredOp& op : lowered.model.ops) {
    if (PartOf(op.reason) != LoweredPart::kFloat) continue;
    const auto found = kept.find(op.output);
    floats.push_back({op.type, op.output, op.reason, found == kept.end() ? "" : found->second});
  }
  return floats;
}

}  // namespace

absl::StatusOr<ProgramForms> MakeProgramForms(const Program& program, const TranspileOptions& how,
                                              const InferenceRequest& request) {
  ProgramForms forms;
  ASSIGN_OR_RETURN(forms.given, PlanAsGiven(program, how.quantizers, request));
  absl::StatusOr<Lowered> lowered = LowerMadeUp(program, how, request, &forms.quantized_by);
  if (!lowered.ok()) {
    if (absl::IsInternal(lowered.status()) || absl::IsInvalidArgument(lowered.status())) {
      return lowered.status();
    }
    forms.why_not = std::string(lowered.status().message());
    return forms;
  }
  forms.floats = FloatOpsOf(*lowered);
  const Scope& scope = lowered->model.scope;
  ASSIGN_OR_RETURN(forms.integers, Planned(std::move(lowered->model.program),
                                           executor::TypesIn(scope), BytesIn(scope), request));
  return forms;
}

}  // namespace fixpoint
