#include "tools/cost_command.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
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
#include "tools/named_quantizers.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"
#include "transpiler/extensions/extensions.h"
#include "transpiler/freeze/test_program.h"

namespace fixpoint {
namespace {

absl::Status CheckShapesAreOfInputs(const CostCommand& command, const Program& program) {
  const std::vector<std::string> fed = NamesOf(FedVariables(program));
  for (const NamedShape& shape : command.shapes) {
    if (std::find(fed.begin(), fed.end(), shape.name) != fed.end()) continue;
    return UsageError(
        absl::StrCat("--shapes: ", command.program, " is not fed \"", shape.name, "\""));
  }
  return absl::OkStatus();
}

// The offsets of the sequences that a shape gives to an input with so many levels of them. A usage
// error unless it has as many, with a length for each sequence that the level before counts.
absl::StatusOr<LoD> OffsetsOf(const NamedShape& shape, int levels) {
  const bool has_sequences = shape.lengths.size() > 1 || shape.lengths[0].size() > 1;
  if (levels == 0 && !has_sequences) return LoD();
  if (static_cast<int>(shape.lengths.size()) != levels) {
    return UsageError(absl::StrCat("--shapes: \"", shape.name, "\" is declared with ", levels,
                                   levels == 1 ? " level" : " levels",
                                   " of sequences, and is given ", shape.lengths.size()));
  }
  LoD lod;
  for (const std::vector<int64_t>& level : shape.lengths) {
    if (!lod.empty() && lod.back().back() != level.size()) {
      return UsageError(absl::StrCat("--shapes: \"", shape.name, "\": a level counts ",
                                     lod.back().back(), " sequences, and the next one has ",
                                     level.size()));
    }
    std::vector<uint64_t>& offsets = lod.emplace_back(1, 0);
    for (const int64_t length : level) offsets.push_back(offsets.back() + length);
  }
  return lod;
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
  const int levels = variable.desc()->type().lod_tensor().lod_level();
  const DimsView declared_dims(declared->dims().data(), declared->dims_size());
  std::vector<int64_t> dims;
  LoD lod;
  if (shape != command.shapes.end()) {
    dims = shape->dims;
    if (!declared_dims.empty() && dims.size() != declared_dims.size()) {
      return UsageError(absl::StrCat("--shapes: \"", name, "\" is declared ",
                                     DimsText(declared_dims), ", and cannot be ", DimsText(dims)));
    }
    ASSIGN_OR_RETURN(lod, OffsetsOf(*shape, levels));
  } else if (levels > 0) {
    return UsageError(absl::StrCat(
        "the cost depends on the lengths of the sequences in \"", name, "\", which ",
        command.program, " is fed as ", DimsText(declared_dims), "; want them in --shapes=", name,
        "=EXTENTS, the first as their sum: 5+7+3x1, or in samples: --data=NAME"));
  } else {
    ASSIGN_OR_RETURN(
        dims, FedDims(variable, command.batch_size, absl::StrCat("--shapes=", name, "=EXTENTS")));
  }
  return executor::FeedType{
      name,
      {{declared->data_type(), dims.empty() ? Dims{1} : Dims(dims.begin(), dims.end())},
       std::move(lod)}};
}

// "5+7+3": numbers that are not negative. Nothing if it is no such list.
std::optional<std::vector<int64_t>> ParseSum(absl::string_view sum) {
  std::vector<int64_t> terms;
  int64_t total = 0;
  for (const absl::string_view term : absl::StrSplit(sum, '+')) {
    int64_t value;
    if (!absl::SimpleAtoi(term, &value) || value < 0) return std::nullopt;
    if (value > std::numeric_limits<int64_t>::max() - total) return std::nullopt;
    total += value;
    terms.push_back(value);
  }
  return terms;
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
    const std::vector<std::string> extents = absl::StrSplit(parts[1], 'x');
    for (const absl::string_view level : absl::StrSplit(extents[0], '/')) {
      std::optional<std::vector<int64_t>> lengths = ParseSum(level);
      if (!lengths) return error;
      shape.lengths.push_back(*std::move(lengths));
    }
    const std::vector<int64_t>& rows = shape.lengths.back();
    shape.dims = {std::accumulate(rows.begin(), rows.end(), int64_t{0})};
    for (size_t i = 1; i < extents.size(); ++i) {
      int64_t value;
      if (!absl::SimpleAtoi(extents[i], &value) || value < 0) return error;
      shape.dims.push_back(value);
    }
  }
  return parsed;
}

absl::StatusOr<ExitCode> RunCostCommand(const CostCommand& command) {
  std::vector<std::string> paths = SplitNames(command.quantizers);
  paths.insert(paths.end(), {command.program, command.config, command.target});
  RETURN_IF_ERROR(CheckInputs(paths));
  ASSIGN_OR_RETURN(const NamedConfig config, LoadNamedConfig(command.config, command.target));
  ASSIGN_OR_RETURN(const NamedQuantizers quantizers,
                   LoadQuantizers(command.quantizers, command.extensions->Quantizers()));
  ASSIGN_OR_RETURN(const NamedProgram named, LoadNamedProgram(command.program));
  RETURN_IF_ERROR(CheckEndsAreDeclared(named.program, command.program));
  RETURN_IF_ERROR(CheckShapesAreOfInputs(command, named.program));
  // What training reads is not needed.
  ASSIGN_OR_RETURN(const Program test, MakeTestProgram(named.program, &quantizers.table));
  ASSIGN_OR_RETURN(const NetworkEnds ends,
                   FindNetworkEnds(test, command.program, command.fetches, {}, "--fetches=NAME"));
  InferenceRequest request;
  request.outputs = ends.outputs;
  ASSIGN_OR_RETURN(const FirstBatch batch, LoadFirstBatch(command, named.program));
  for (const std::string& name : ends.inputs) {
    ASSIGN_OR_RETURN(executor::FeedType feed, FeedOf(command, test, batch, name));
    request.feeds.push_back(std::move(feed));
  }
  kernels::UseThreads(1);
  TranspileOptions how;
  how.config = config.config;
  how.names.config = config.name;
  how.quantizers = &quantizers.table;
  how.checks = &command.extensions->checks();
  CostReport report;
  report.program = command.program;
  report.batch_size = command.data ? batch.samples : command.batch_size;
  ASSIGN_OR_RETURN(report.forms, MakeProgramForms(named.program, how, request));
  report.speeds = kernels::MeasureKernelSpeeds();
  RETURN_IF_ERROR(WriteStandardOutput(command.json ? CostJson(report) : CostText(report)));
  return kDone;
}

}  // namespace fixpoint
