#include "tools/initial_values.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "runtime/parameter_file.h"
#include "runtime/tensor.h"
#include "runtime/training/trainer.h"
#include "tools/named_program.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

VarType::Type TypeOf(const Scope::Value& value) {
  const Tensor* tensor = std::get_if<Tensor>(&value);
  return tensor != nullptr ? tensor->dtype() : std::get<SelectedRows>(value).value.dtype();
}

Names NamesOf(const std::vector<ParameterInfo>& parameters) {
  Names names;
  for (const ParameterInfo& parameter : parameters) names.push_back(parameter.name);
  return names;
}

Names Without(Names names, const Scope& scope) {
  names.erase(
      std::remove_if(names.begin(), names.end(),
                     [&](const std::string& name) { return scope.FindOrNull(name) != nullptr; }),
      names.end());
  return names;
}

// The variables that the optimizers of a program update.
Names TrainedParameters(const Program& program) {
  std::set<std::string> names;
  for (const Op& op : program.block(0).ops()) {
    const Argument* parameter = op.Output("ParamOut");
    if (parameter != nullptr) names.insert(std::string(parameter->name()));
  }
  return Names(names.begin(), names.end());
}

// The files in a folder and below it that hold none of the parameters.
Names OtherFiles(const std::string& folder, const Names& parameters) {
  const std::set<std::string> known(parameters.begin(), parameters.end());
  std::set<std::string> others;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().lexically_relative(folder).string();
    if (!it->is_directory(error) && known.count(name) == 0) others.insert(name);
  }
  return Names(others.begin(), others.end());
}

int64_t CountInitialised(const Program& startup, const Names& names) {
  return std::count_if(names.begin(), names.end(), [&](const std::string& name) {
    return startup.Find(startup.block(0), name) != nullptr;
  });
}

// Whether a file is a startup program that initialises some of these variables.
bool IsStartupOf(const std::string& file, const Names& names) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;
  const absl::StatusOr<NamedProgram> startup = LoadNamedProgram(file);
  return startup.ok() && CountInitialised(startup->program, names) > 0;
}

}  // namespace

absl::Status RunStartup(const TrainedFrom& trained, Scope* scope, const BatchRunOptions& options) {
  const Names fed = NamesOf(FedVariables(trained.startup));
  if (!fed.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        trained.startup_file, ": is fed ", FirstNames(fed), ", which a startup program ",
        "never is; want the one that initialises ", trained.program_file));
  }
  const absl::Status initialized = Initialize(trained.startup, scope, options);
  return initialized.ok() ? initialized : InFile(trained.startup_file, initialized);
}

absl::StatusOr<std::string> TakeParameters(const TrainedFrom& trained, const std::string& params,
                                           Scope* scope) {
  const ProgramDesc& program = trained.program.Proto();
  std::error_code ignored;
  const bool is_folder = fs::is_directory(params, ignored);
  ASSIGN_OR_RETURN(const Scope given, is_folder ? LoadParametersThatAreThere(program, params)
                                                : LoadParameters(program, params));
  for (const auto& [name, value] : given) {
    const Scope::Value* initial = scope->FindOrNull(name);
    if (initial != nullptr && TypeOf(*initial) != TypeOf(value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          params, is_folder ? absl::StrCat("/", name) : absl::StrCat(": variable \"", name, "\""),
          ": is ", VarType::Type_Name(TypeOf(value)), "; want the startup program's type, ",
          VarType::Type_Name(TypeOf(*initial))));
    }
    ASSIGN_OR_RETURN(Scope::Value copy, Scope::CloneOf(value));
    scope->Set(name, std::move(copy));
  }
  const Names trained_names = TrainedParameters(trained.program);
  if (!trained_names.empty() && Without(trained_names, given).size() == trained_names.size()) {
    return absl::NotFoundError(absl::StrCat(
        params, ": has none of the parameters that are trained: ", FirstNames(trained_names)));
  }
  const Names parameters = NamesOf(ParametersOf(program));
  const Names lacking = Without(parameters, given);
  const Names unused = is_folder ? OtherFiles(params, parameters) : Names();
  if (lacking.empty() && unused.empty()) return "";
  std::string text =
      absl::StrCat("took ", given.size(), " of ", parameters.size(), " parameters from ", params);
  if (!lacking.empty()) {
    absl::StrAppend(&text, "; from the startup program: ", FirstNames(lacking));
  }
  if (!unused.empty()) absl::StrAppend(&text, "; not used: ", FirstNames(unused));
  return text + "\n";
}

absl::Status CheckCanBeSaved(const TrainedFrom& trained, const Scope& scope,
                             const std::string& folder) {
  const Program& program = trained.program;
  const absl::Status status = CheckSeparateParameters(program.Proto(), scope, folder);
  // An error of writing already has the name.
  if (absl::IsUnavailable(status)) return status;
  if (!status.ok()) return InFile(trained.program_file, status);
  const Names lacking = Without(NamesOf(ParametersOf(program.Proto())), scope);
  std::set<std::string> written;
  for (int b = 0; b < program.block_count() && !lacking.empty(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      for (const Argument* output : op.outputs()) written.emplace(output->name());
    }
  }
  for (const std::string& name : lacking) {
    if (written.count(name) > 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(trained.program_file, ": parameter \"", name, "\" is not initialised by ",
                     trained.startup_file,
                     " and not written by the program; without a value it cannot be saved"));
  }
  return absl::OkStatus();
}

absl::Status WithMissingValues(const absl::Status& error, const TrainedFrom& trained,
                               const Scope& scope) {
  const Names parameters = NamesOf(ParametersOf(trained.program.Proto()));
  const Names missing = Without(parameters, scope);
  const bool is_cause = std::any_of(missing.begin(), missing.end(), [&](const std::string& name) {
    return absl::StrContains(error.message(), absl::StrCat("\"", name, "\""));
  });
  if (!is_cause) return error;
  std::string text = absl::StrCat(
      error.message(), "; ", trained.startup_file, " initialises ",
      CountInitialised(trained.startup, parameters), " of the ", parameters.size(),
      " persistable variables, and not ", FirstNames(missing),
      ": does it belong to another program, or to this one before it was ", "quantized?");
  const std::string quantized = Beside(trained.startup_file, "quantized");
  if (IsStartupOf(quantized, missing)) absl::StrAppend(&text, " There is ", quantized);
  return absl::Status(error.code(), text);
}

}  // namespace fixpoint
