#include "tools/inference_command.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/data/data_source.h"
#include "runtime/data/sample_set.h"
#include "runtime/npy.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "runtime/training/evaluator.h"
#include "tools/evaluation_report.h"
#include "tools/integer_speed.h"
#include "tools/json.h"
#include "tools/named_program.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"

namespace fixpoint {
namespace {

// What reports call the samples.
absl::string_view Samples(const InferenceCommand& command) {
  return IsOfImages(*command.data) ? "images" : "samples";
}

std::string ReportText(const InferenceCommand& command, const Evaluation& evaluation) {
  return absl::StrCat(Samples(command), " ", evaluation.samples, ", ", EvaluationText(evaluation),
                      "\n");
}

std::string ReportJson(const InferenceCommand& command, const Evaluation& evaluation) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("program").String(command.program);
  json.Key(Samples(command)).Int(evaluation.samples);
  WriteEvaluation(evaluation, "", json);
  json.EndObject();
  return json.Take();
}

// What is known when the program has been planned: whether codes are slow here, and what
// --dump_plan and --profile ask for.
absl::Status TellOfBackend(const InferenceCommand& command, const Backend& backend,
                           bool output_is_taken) {
  RETURN_IF_ERROR(WriteReport(IntegerSpeedNote(backend.CountCodedProducts(), command.program),
                              /*output_is_taken=*/true));
  std::string text = command.dump_plan ? backend.PlanText() : "";
  absl::StrAppend(&text, backend.ProfileText());
  return WriteReport(text, output_is_taken);
}

absl::StatusOr<ExitCode> EvaluateData(const InferenceCommand& command, const Program& program,
                                      Scope* scope) {
  ASSIGN_OR_RETURN(
      const NetworkVariables variables,
      FindVariablesForFlags(program, command.program, command.variables, InputsOf(*command.data)));
  if (variables.scores.empty() && variables.loss.empty() && variables.metrics.empty()) {
    return UsageError(absl::StrCat(command.program,
                                   " has no cross entropy and not one fetch: which variable holds "
                                   "the scores of the classes? --scores=NAME"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> set, OpenData(*command.data, DataPart::kTest));
  BatchRunOptions options;
  options.variables = variables;
  options.backend = command.backend;
  options.backend_options = command.backend_options;
  options.batches.batch_size = command.batch_size;
  absl::StatusOr<Evaluator> evaluator = Evaluator::Create(program, scope, set.get(), options);
  if (!evaluator.ok()) return InFile(command.program, evaluator.status());
  const absl::StatusOr<Evaluation> evaluation = evaluator->Run();
  if (!evaluation.ok()) return InFile(command.program, evaluation.status());
  if (!evaluation->loss && !evaluation->accuracy && evaluation->metrics.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(command.program,
                     ": nothing is measured: the program has no loss, and the samples no labels; "
                     "want labels in an array of integers, \"labels\""));
  }
  RETURN_IF_ERROR(WriteReport(
      command.json ? ReportJson(command, *evaluation) : ReportText(command, *evaluation),
      /*output_is_taken=*/false));
  RETURN_IF_ERROR(TellOfBackend(command, evaluator->backend(), /*output_is_taken=*/command.json));
  return kDone;
}

absl::StatusOr<ExitCode> RunOnArrays(const InferenceCommand& command, const Program& program,
                                     Scope* scope, Outputs* outputs) {
  std::vector<Tensor> fed;
  std::vector<Feed> feeds;
  for (const NamedFile& feed : command.feeds) {
    ASSIGN_OR_RETURN(const Variable* variable, FindForFlag("feeds", feed.name, program,
                                                           command.program, FedVariables(program)));
    ASSIGN_OR_RETURN(Tensor tensor, LoadFeed(feed, *variable));
    fed.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < fed.size(); ++i) feeds.push_back({command.feeds[i].name, &fed[i]});
  std::vector<std::string> names;
  for (const NamedFile& fetch : command.fetches) {
    RETURN_IF_ERROR(
        FindForFlag("fetches", fetch.name, program, command.program, FetchedVariables(program))
            .status());
    RETURN_IF_ERROR(outputs->Claim(fetch.file));
    RETURN_IF_ERROR(CheckBinaryOutput(fetch.file));
    names.push_back(fetch.name);
  }
  RETURN_IF_ERROR(CheckFeeds(program, command.program, command.feeds, names,
                             /*runs_all=*/command.backend == BackendKind::kReference));

  absl::StatusOr<std::unique_ptr<Backend>> backend =
      MakeBackend(command.backend, program, scope, command.backend_options);
  if (!backend.ok()) return InFile(command.program, backend.status());
  const absl::StatusOr<std::vector<Tensor>> fetched = (*backend)->Run(feeds, names, /*step=*/0);
  if (!fetched.ok()) return InFile(command.program, fetched.status());

  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const absl::StatusOr<std::string> array = NpyBytes((*fetched)[i]);
    if (!array.ok()) return InFile(names[i], array.status());
    RETURN_IF_ERROR(outputs->Stage(command.fetches[i].file, *array));
    absl::StrAppend(&text, "wrote ", command.fetches[i].file, "\n");
  }
  RETURN_IF_ERROR(outputs->Commit());
  RETURN_IF_ERROR(WriteReport(text, outputs->to_standard_output()));
  RETURN_IF_ERROR(TellOfBackend(command, **backend, outputs->to_standard_output()));
  return kDone;
}

}  // namespace

absl::StatusOr<ExitCode> RunInferenceCommand(const InferenceCommand& command) {
  std::vector<std::string> inputs = {command.program, command.params};
  for (const NamedFile& feed : command.feeds) inputs.push_back(feed.file);
  RETURN_IF_ERROR(CheckInputs(inputs));
  ASSIGN_OR_RETURN(const NamedProgram named, LoadNamedProgram(command.program));
  const absl::Status does_not_train = CheckDoesNotTrain(named.program);
  if (!does_not_train.ok()) return InFile(command.program, does_not_train);
  RETURN_IF_ERROR(CheckEndsAreDeclared(named.program, command.program));
  ASSIGN_OR_RETURN(Scope scope,
                   LoadScope(named.program, command.program, "params", command.params));
  if (command.data) return EvaluateData(command, named.program, &scope);
  Outputs outputs(std::move(inputs));
  return RunOnArrays(command, named.program, &scope, &outputs);
}

}  // namespace fixpoint
