#include "tools/inference_modes.h"

#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/codes/integer_reasons.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "runtime/run_op_types.h"
#include "runtime/scope.h"
#include "runtime/training/network_variables.h"
#include "tools/failing_program.h"
#include "tools/json.h"
#include "tools/named_parameters.h"
#include "tools/named_program.h"
#include "tools/outputs.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/report/account.h"
#include "transpiler/report/lowering_account.h"

namespace fixpoint {
namespace {

// What is read, and where the results go.
struct ModelFiles {
  NamedProgram read;
  Scope parameters;
  std::string output;
  std::string params_output;
  Outputs outputs;
};

// `mode` is for messages; `word` names the outputs that no flag names.
absl::StatusOr<ModelFiles> ReadModel(const ModelCommand& command, absl::string_view mode,
                                     const std::string& word) {
  if (command.params.empty()) {
    return UsageError(absl::StrCat("--mode=", mode, " needs the ",
                                   mode == "lower" ? "frozen" : "trained",
                                   " parameters: --params=FILE or --params=FOLDER"));
  }
  if (command.params_output == "-") {
    return UsageError(
        "--params_output=-: parameters go to a file or a folder, and not to standard output");
  }
  ASSIGN_OR_RETURN(NamedProgram read, LoadNamedProgram(command.program));
  // Before the parameters, which are seldom those of a program that is not frozen.
  if (mode == "lower") RETURN_IF_ERROR(CheckCanBeLowered(read.program));
  std::vector<std::string> inputs = ParameterInputs(command.params, read.program.Proto());
  inputs.push_back(command.program);
  inputs.push_back(command.patterns);
  Outputs outputs(std::move(inputs));
  ModelFiles files{std::move(read), Scope(), command.output, command.params_output,
                   std::move(outputs)};
  if (files.output.empty()) files.output = Beside(command.program, word);
  RETURN_IF_ERROR(ClaimProgram(files.output, files.read.format, &files.outputs));
  if (files.params_output.empty()) files.params_output = ParamsBeside(command.params, word);
  RETURN_IF_ERROR(files.outputs.Claim(files.params_output));
  ASSIGN_OR_RETURN(files.parameters, LoadParameters(files.read.program.Proto(), command.params));
  return files;
}

// The error of `make`; for a defect, with a smaller program that reproduces it.
absl::Status WithFailingModel(const ModelCommand& command, const absl::Status& error,
                              const std::string& stem, ModelFiles* files,
                              const std::function<absl::Status(const Program&)>& make) {
  if (command.dry_run) return error;
  return WithFailingProgram(
      error, files->read.program.Proto(),
      [&make](const ProgramDesc& candidate) -> absl::Status {
        ASSIGN_OR_RETURN(const Program program, Program::Create(candidate, "candidate"));
        return make(program);
      },
      files->output == "-" ? stem : files->output, &files->outputs);
}

// Where a model was written; "" if it was not.
struct Written {
  std::string output;
  std::string params_output;
};

// Writes nothing in a dry run.
absl::StatusOr<Written> WriteModel(const ModelCommand& command, const Program& program,
                                   const Scope& parameters, ModelFiles* files) {
  if (command.dry_run) return Written();
  RETURN_IF_ERROR(StageProgram(program, files->read.format, files->output, &files->outputs));
  RETURN_IF_ERROR(StageParameters(program.Proto(), parameters, command.params, files->params_output,
                                  &files->outputs));
  RETURN_IF_ERROR(files->outputs.Commit());
  return Written{files->output, files->params_output};
}

std::string WrittenText(const Written& written) {
  std::string text;
  if (!written.output.empty()) absl::StrAppend(&text, "wrote ", written.output, "\n");
  if (!written.params_output.empty()) absl::StrAppend(&text, "wrote ", written.params_output, "\n");
  return text;
}

// The keys that the documents of all modes share.
void BeginModelJson(const std::string& program, const Written& written,
                    const std::vector<std::string>& notes, JsonWriter* json) {
  json->BeginObject();
  json->Key("schema_version").Int(kSchemaVersion);
  json->Key("program").String(program);
  json->Key("output").String(written.output);
  json->Key("params_output").String(written.params_output);
  json->Key("notes").BeginArray();
  for (const std::string& note : notes) json->String(note);
  json->EndArray();
}

// "elementwise_add 3, relu 2", of what a pass did to ops.
std::string CountsText(const std::map<std::string, int>& counts) {
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& type) {
    absl::StrAppend(out, type.first, " ", type.second);
  });
}

std::string PrepareText(const ModelCommand& command, const PreparedModel& model,
                        const Written& written) {
  std::string text;
  std::vector<std::string> passes;  // in the order of the pipeline
  std::map<std::string, std::map<std::string, int>> counts;
  for (const PreparedOp& op : model.ops) {
    if (command.explain) {
      absl::StrAppend(&text, "block ", op.block, ", op ", op.op, " (", op.type, ") \"", op.output,
                      "\": ", op.removed ? "removed" : "changed", " by ", op.pass, "\n");
    }
    if (counts.count(op.pass) == 0) passes.push_back(op.pass);
    ++counts[op.pass][op.type];
  }
  for (const std::string& pass : passes) {
    absl::StrAppend(&text, pass, ": ", CountsText(counts[pass]), "\n");
  }
  if (passes.empty()) text = "nothing to prepare\n";
  return absl::StrCat(text, WrittenText(written));
}

std::string PrepareJson(const std::string& program, const PreparedModel& model,
                        const Written& written) {
  JsonWriter json;
  BeginModelJson(program, written, model.notes, &json);
  json.Key("ops").BeginArray();
  for (const PreparedOp& op : model.ops) {
    json.BeginObject();
    json.Key("block").Int(op.block);
    json.Key("op").Int(op.op);
    json.Key("type").String(op.type);
    json.Key("output").String(op.output);
    json.Key("pass").String(op.pass);
    json.Key("removed").Bool(op.removed);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string FreezeText(const FrozenModel& model, const Written& written) {
  return absl::StrCat("quantized weights: ", model.weights.count, ", ", model.weights.float_bytes,
                      " bytes of float, ", model.weights.code_bytes, " bytes of codes\n",
                      WrittenText(written));
}

std::string FreezeJson(const std::string& program, const FrozenModel& model,
                       const Written& written) {
  JsonWriter json;
  BeginModelJson(program, written, model.notes, &json);
  json.Key("quantized_weights").Int(model.weights.count);
  json.Key("float_bytes").Int(model.weights.float_bytes);
  json.Key("code_bytes").Int(model.weights.code_bytes);
  json.EndObject();
  return json.Take();
}

std::string LowerText(const ModelCommand& command, const LoweredModel& model,
                      const Written& written) {
  const LoweringAccount account = MakeLoweringAccount(model.ops);
  const int ops = account.integers + account.floats;
  return absl::StrCat(command.explain ? absl::StrCat(LoweringExplainTable(model.ops), "\n") : "",
                      AccountTable(account.lines, "integers", "other"),
                      "computed on integers: ", account.integers, " of ", ops, " ops (",
                      ops == 0 ? 0 : 100 * account.integers / ops, " %), beside ", account.edges,
                      " between floats and codes\n", WrittenText(written));
}

std::string LowerJson(const std::string& program, const LoweredModel& model,
                      const Written& written) {
  const LoweringAccount account = MakeLoweringAccount(model.ops);
  JsonWriter json;
  BeginModelJson(program, written, model.notes, &json);
  json.Key("integers").Int(account.integers);
  json.Key("edges").Int(account.edges);
  json.Key("floats").Int(account.floats);
  json.Key("op_types").BeginArray();
  for (const AccountLine& line : account.lines) {
    json.BeginObject();
    json.Key("type").String(line.op_type);
    json.Key("ops").Int(line.total);
    json.Key("integers").Int(line.done);
    json.Key("other").BeginObject();
    for (const auto& [reason, count] : line.kept) json.Key(reason).Int(count);
    json.EndObject().EndObject();
  }
  json.EndArray();
  json.Key("ops").BeginArray();
  for (const LoweredOp& op : model.ops) {
    json.BeginObject();
    json.Key("block").Int(op.block);
    json.Key("op").Int(op.op);
    json.Key("type").String(op.type);
    json.Key("output").String(op.output);
    json.Key("reason").String(IntegerReasonCode(op.reason));
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

// The scores of a network that classifies; null if they are not known.
const Variable* FindScores(const Program& program) {
  const absl::StatusOr<NetworkVariables> variables = FindNetworkVariables(program);
  return variables.ok() ? program.Find(program.block(0), variables->scores) : nullptr;
}

// A usage error if --feeds or --fetches names a variable that does not exist.
absl::Status CheckEnds(const ModelCommand& command, const Program& program,
                       const FreezeOptions& options) {
  for (const std::string& feed : options.feeds) {
    RETURN_IF_ERROR(
        FindForFlag("feeds", feed, program, command.program, FedVariables(program)).status());
  }
  std::vector<const Variable*> likely = FetchedVariables(program);
  const Variable* const scores = FindScores(program);
  if (likely.empty() && scores != nullptr) likely = {scores};
  for (const std::string& fetch : options.fetches) {
    RETURN_IF_ERROR(FindForFlag("fetches", fetch, program, command.program, likely).status());
  }
  return absl::OkStatus();
}

// Notes which ops of a portable program, all of which are left alone, no backend runs.
void NoteOpsThatNothingRuns(const std::string& file, const Program& program) {
  std::vector<std::string> ops;
  for (const Op* op : FindOpsThatNothingRuns(program)) {
    ops.push_back(
        absl::StrCat(op->type(), " (block ", op->block().index(), ", op ", op->Index(), ")"));
  }
  if (ops.empty()) return;
  WriteNotes(file, {absl::StrCat("infer cannot run the result: no backend runs op types ",
                                 absl::StrJoin(ops, ", "))});
}

// The error of a freeze, with what could be fetched if nothing names it.
absl::Status WithScores(const absl::Status& error, const Program& program,
                        const std::vector<std::string>& fetches) {
  const bool is_of_fetches = error.code() == absl::StatusCode::kInvalidArgument &&
                             fetches.empty() && FetchedVariables(program).empty();
  const Variable* const scores = is_of_fetches ? FindScores(program) : nullptr;
  if (scores == nullptr) return error;
  return absl::Status(
      error.code(),
      absl::StrCat(error.message(), "; the scores of the classes are ", scores->name()));
}

}  // namespace

absl::StatusOr<ExitCode> RunTestCommand(const TestCommand& command) {
  ASSIGN_OR_RETURN(const NamedProgram training, LoadNamedProgram(command.program));
  const std::string output =
      command.output.empty() ? Beside(command.program, "test") : command.output;
  Outputs outputs({command.program});
  RETURN_IF_ERROR(ClaimProgram(output, training.format, &outputs));
  absl::StatusOr<Program> made = MakeTestProgram(training.program, command.quantizers);
  if (!made.ok()) {
    if (command.dry_run) return made.status();
    return WithFailingProgram(
        made.status(), training.program.Proto(),
        [&command](const ProgramDesc& candidate) -> absl::Status {
          ASSIGN_OR_RETURN(const Program program, Program::Create(candidate, "candidate"));
          return MakeTestProgram(program, command.quantizers).status();
        },
        output == "-" ? "test" : output, &outputs);
  }
  const Program& test = *made;
  if (command.dry_run) {
    RETURN_IF_ERROR(
        WriteReport(DryRunText(output, OpCount(training.program), OpCount(test)), false));
    return kDone;
  }
  RETURN_IF_ERROR(StageProgram(test, training.format, output, &outputs));
  RETURN_IF_ERROR(outputs.Commit());
  RETURN_IF_ERROR(WriteReport(absl::StrCat("wrote ", output, "\n"), output == "-"));
  return kDone;
}

absl::StatusOr<ExitCode> RunPrepareCommand(const ModelCommand& command,
                                           const PrepareOptions& options) {
  ASSIGN_OR_RETURN(ModelFiles files, ReadModel(command, "prepare", "prepared"));
  const absl::StatusOr<PreparedModel> model =
      Prepare(files.read.program, files.parameters, options);
  if (!model.ok()) {
    PrepareOptions quiet = options;
    quiet.pipeline_options.after_pass = nullptr;
    return WithFailingModel(command, model.status(), "prepare", &files,
                            [&](const Program& candidate) {
                              return Prepare(candidate, files.parameters, quiet).status();
                            });
  }
  ASSIGN_OR_RETURN(const Written written,
                   WriteModel(command, model->program, model->scope, &files));
  if (!command.json) WriteNotes(command.program, model->notes);
  RETURN_IF_ERROR(WriteReport(command.json ? PrepareJson(command.program, *model, written)
                                           : PrepareText(command, *model, written),
                              written.output == "-"));
  return kDone;
}

absl::StatusOr<ExitCode> RunFreezeCommand(const ModelCommand& command,
                                          const FreezeOptions& options) {
  ASSIGN_OR_RETURN(ModelFiles files, ReadModel(command, "freeze", "frozen"));
  RETURN_IF_ERROR(CheckEnds(command, files.read.program, options));
  const absl::StatusOr<FrozenModel> model = Freeze(files.read.program, files.parameters, options);
  if (!model.ok()) {
    FreezeOptions quiet = options;
    quiet.pipeline_options.after_pass = nullptr;
    const absl::Status error = WithScores(model.status(), files.read.program, options.fetches);
    return WithFailingModel(command, error, "freeze", &files, [&](const Program& candidate) {
      return Freeze(candidate, files.parameters, quiet).status();
    });
  }
  ASSIGN_OR_RETURN(const Written written,
                   WriteModel(command, model->program, model->scope, &files));
  if (!command.json) WriteNotes(command.program, model->notes);
  RETURN_IF_ERROR(WriteReport(
      command.json ? FreezeJson(command.program, *model, written) : FreezeText(*model, written),
      written.output == "-"));
  return kDone;
}

absl::StatusOr<ExitCode> RunLowerCommand(const ModelCommand& command, const LowerOptions& options) {
  ASSIGN_OR_RETURN(ModelFiles files, ReadModel(command, "lower", "lowered"));
  const absl::StatusOr<LoweredModel> model = Lower(files.read.program, files.parameters, options);
  if (!model.ok()) {
    LowerOptions quiet = options;
    quiet.pipeline_options.after_pass = nullptr;
    return WithFailingModel(command, model.status(), "lower", &files,
                            [&](const Program& candidate) {
                              return Lower(candidate, files.parameters, quiet).status();
                            });
  }
  NoteOpsThatNothingRuns(command.program, files.read.program);
  ASSIGN_OR_RETURN(const Written written,
                   WriteModel(command, model->program, model->scope, &files));
  if (!command.json) WriteNotes(command.program, model->notes);
  RETURN_IF_ERROR(WriteReport(command.json ? LowerJson(command.program, *model, written)
                                           : LowerText(command, *model, written),
                              written.output == "-"));
  return kDone;
}

}  // namespace fixpoint
