#include "tools/cost_command.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/kernels/kernel_speeds.h"
#include "runtime/kernels/threads.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tools/cost_forms.h"
#include "tools/cost_report.h"
#include "tools/inference_inputs.h"
#include "tools/named_config.h"
#include "tools/named_program.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"

namespace fixpoint {
namespace {

absl::StatusOr<NetworkEnds> FindEnds(const CostCommand& command, const Program& program) {
  RETURN_IF_ERROR(CheckEndsAreDeclared(program, command.program));
  ASSIGN_OR_RETURN(NetworkEnds ends, FindNetworkEnds(program, command.program, command.fetches, {},
                                                     "--fetches=NAME"));
  for (const NamedShape& shape : command.shapes) {
    if (std::find(ends.inputs.begin(), ends.inputs.end(), shape.name) != ends.inputs.end()) {
      continue;
    }
    return UsageError(
        absl::StrCat("--shapes: ", command.program, " is not fed \"", shape.name, "\""));
  }
  return ends;
}

absl::StatusOr<FirstBatch> LoadFirstBatch(const CostCommand& command, const Program& program) {
  if (!command.data) return FirstBatch();
  ASSIGN_OR_RETURN(
      const NetworkVariables variables,
      FindVariablesForFlags(program, command.program, /*named=*/{}, InputsOf(*command.data)));
  return FirstBatchOf(*command.data, program, command.program, variables, command.batch_size);
}

absl::StatusOr<executor::FeedType> FeedOf(const CostCommand& command, const Program& program,
                                          const FirstBatch& batch, const std::string& name) {
  if (const Scope::Value* const given = batch.values.FindOrNull(name)) {
    const Tensor& tensor = std::get<Tensor>(*given);
    return executor::FeedType{
        name, {{tensor.dtype(), Dims(tensor.dims().begin(), tensor.dims().end())}, tensor.lod()}};
  }
  const Variable& variable = *program.Find(program.block(0), name);
  const auto shape = std::find_if(command.shapes.begin(), command.shapes.end(),
                                  [&name](const NamedShape& shape) { return shape.name == name; });
  const VarType::TensorDesc* declared = variable.tensor();
  if (declared == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        command.program, ": \"", name, "\", which is fed, is not a tensor; its cost is not known"));
  }
  std::vector<int64_t> dims;
  if (shape == command.shapes.end()) {
    ASSIGN_OR_RETURN(
        dims, FedDims(variable, command.batch_size, absl::StrCat("--shapes=", name, "=EXTENTS")));
  } else {
    dims = shape->dims;
    const DimsView declared_dims(declared->dims().data(), declared->dims_size());
    if (!declared_dims.empty() && dims.size() != declared_dims.size()) {
      return UsageError(absl::StrCat("--shapes: \"", name, "\" is declared ",
                                     DimsText(declared_dims), ", and cannot be ", DimsText(dims)));
    }
  }
  if (variable.desc()->type().lod_tensor().lod_level() > 0) {
    return absl::UnimplementedError(
        absl::StrCat(command.program, ": \"", name,
                     "\", which is fed, holds sequences; the cost depends on their lengths, "
                     "which samples give: --data=NAME"));
  }
  return executor::FeedType{
      name, {{declared->data_type(), dims.empty() ? Dims{1} : Dims(dims.begin(), dims.end())}, {}}};
}

}  // namespace

absl::StatusOr<std::vector<NamedShape>> ParseShapes(const std::string& shapes) {
  std::vector<NamedShape> parsed;
  for (const std::string& item : SplitNames(shapes)) {
    const absl::Status error = UsageError(
        absl::StrCat("--shapes: \"", item, "\"; want NAME=EXTENTS, as image=1x3x224x224"));
    const std::vector<std::string> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty()) return error;
    NamedShape& shape = parsed.emplace_back();
    shape.name = parts[0];
    for (absl::string_view extent : absl::StrSplit(parts[1], 'x')) {
      int64_t value;
      if (!absl::SimpleAtoi(extent, &value) || value < 0) return error;
      shape.dims.push_back(value);
    }
  }
  return parsed;
}

absl::StatusOr<ExitCode> RunCostCommand(const CostCommand& command) {
  RETURN_IF_ERROR(CheckInputs({command.program, command.config, command.target}));
  ASSIGN_OR_RETURN(const NamedConfig config, LoadNamedConfig(command.config, command.target));
  ASSIGN_OR_RETURN(const NamedProgram named, LoadNamedProgram(command.program));
  ASSIGN_OR_RETURN(const NetworkEnds ends, FindEnds(command, named.program));
  InferenceRequest request;
  request.outputs = ends.outputs;
  ASSIGN_OR_RETURN(const FirstBatch batch, LoadFirstBatch(command, named.program));
  for (const std::string& name : ends.inputs) {
    ASSIGN_OR_RETURN(executor::FeedType feed, FeedOf(command, named.program, batch, name));
    request.feeds.push_back(std::move(feed));
  }
  kernels::UseThreads(1);
  CostReport report;
  report.program = command.program;
  report.batch_size = command.data ? batch.samples : command.batch_size;
  ASSIGN_OR_RETURN(report.forms, MakeProgramForms(named.program, config, request));
  report.speeds = kernels::MeasureKernelSpeeds();
  RETURN_IF_ERROR(WriteStandardOutput(command.json ? CostJson(report) : CostText(report)));
  return kDone;
}

}  // namespace fixpoint
