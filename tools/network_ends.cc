#include "tools/network_ends.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/executor/demand.h"
#include "tools/command_line.h"
#include "tools/named_program.h"
#include "tools/outputs.h"

namespace fixpoint {

namespace {

// A usage error if a flag names a variable that does not exist.
absl::Status CheckNamed(const Program& program, const std::string& path,
                        const NetworkVariables& named) {
  const std::pair<absl::string_view, const std::string&> flags[] = {{"images", named.images},
                                                                    {"labels", named.labels},
                                                                    {"loss", named.loss},
                                                                    {"scores", named.scores}};
  for (const auto& [flag, name] : flags) {
    if (name.empty()) continue;
    RETURN_IF_ERROR(FindForFlag(flag, name, program, path, FedVariables(program)).status());
  }
  for (const std::string& name : named.metrics) {
    RETURN_IF_ERROR(FindForFlag("measure", name, program, path).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NetworkVariables> FindVariablesForFlags(const Program& program,
                                                       const std::string& path,
                                                       const NetworkVariables& named,
                                                       NetworkInputs inputs) {
  RETURN_IF_ERROR(CheckNamed(program, path, named));
  const absl::StatusOr<NetworkVariables> variables = FindNetworkVariables(program, named, inputs);
  if (!variables.ok()) return InFile(path, variables.status());
  return variables;
}

absl::StatusOr<DataSource> DataOfFlag(absl::string_view flag, const std::string& data) {
  const absl::StatusOr<DataSource> source = ParseDataSource(data);
  if (!source.ok()) return UsageError(absl::StrCat("--", flag, ": ", source.status().message()));
  return source;
}

absl::StatusOr<std::unique_ptr<SampleSet>> OpenData(const DataSource& source, DataPart part) {
  ASSIGN_OR_RETURN(std::unique_ptr<SampleSet> samples, OpenSamples(source, part));
  const std::string note = samples->Note();
  if (!note.empty()) RETURN_IF_ERROR(WriteReport(note + "\n", /*output_is_taken=*/true));
  return samples;
}

NetworkInputs InputsOf(const DataSource& source) {
  return IsOfImages(source) ? NetworkInputs::kImages : NetworkInputs::kAny;
}

absl::Status CheckEndsAreDeclared(const Program& program, const std::string& path) {
  for (const auto& ends : {FedVariables(program), FetchedVariables(program)}) {
    for (const Variable* variable : ends) {
      if (variable->desc() != nullptr) continue;
      const Argument& first = *variable->arguments().front();
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", Describe(first.op()), ": ",
                       first.is_output() ? "output " : "input ", first.slot_name(), " names \"",
                       variable->name(), "\", which no block declares; want it declared"));
    }
  }
  return absl::OkStatus();
}

std::vector<const Variable*> NeededInputs(const Program& program,
                                          const std::vector<std::string>& outputs, bool runs_all) {
  std::vector<const Value*> wanted;
  for (const std::string& output : outputs) {
    const Variable* variable = program.Find(program.block(0), output);
    if (variable != nullptr && !variable->values().empty()) {
      wanted.push_back(variable->values().back());
    }
  }
  const executor::Demand demand(program.block(0), EraOf(program), wanted);
  const auto is_read = [&](const Value* value) {
    return runs_all ? !value->readers().empty() : demand.IsNeeded(*value);
  };
  std::vector<const Variable*> inputs;
  for (const Variable* variable : FedVariables(program)) {
    const absl::Span<const Value* const> values = variable->values();
    if (std::any_of(values.begin(), values.end(), is_read)) inputs.push_back(variable);
  }
  return inputs;
}

absl::StatusOr<NetworkEnds> FindNetworkEnds(const Program& program, const std::string& path,
                                            const std::vector<std::string>& fetches,
                                            const NetworkVariables& named, absl::string_view flag) {
  RETURN_IF_ERROR(CheckNamed(program, path, named));
  for (const std::string& fetch : fetches) {
    RETURN_IF_ERROR(
        FindForFlag("fetches", fetch, program, path, FetchedVariables(program)).status());
  }
  NetworkEnds ends;
  ends.outputs = fetches.empty() ? NamesOf(FetchedVariables(program)) : fetches;
  if (ends.outputs.empty()) {
    ASSIGN_OR_RETURN(const NetworkVariables variables,
                     FindNetworkVariables(program, named, NetworkInputs::kAny));
    if (variables.scores.empty()) {
      return UsageError(absl::StrCat(path,
                                     " fetches nothing and has no cross entropy: which variable is "
                                     "computed? ",
                                     flag));
    }
    ends.outputs = {variables.scores};
  }
  ends.inputs = NamesOf(NeededInputs(program, ends.outputs, /*runs_all=*/false));
  return ends;
}

absl::StatusOr<std::vector<int64_t>> FedDims(const Variable& variable, int64_t batch_size,
                                             absl::string_view flag) {
  const VarType::TensorDesc* declared = variable.tensor();
  std::vector<int64_t> dims;
  if (declared != nullptr) dims.assign(declared->dims().begin(), declared->dims().end());
  if (!dims.empty() && dims.front() < 0) dims.front() = batch_size;
  const bool is_known = std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
  if (declared != nullptr && is_known) return dims;
  return UsageError(absl::StrCat("the program does not declare the shape of \"", variable.name(),
                                 "\", which it is fed; want ", flag));
}

}  // namespace fixpoint
