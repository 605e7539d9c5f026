#include "tools/inference_modes.h"

#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/status_macros.h"
#include "runtime/parameter_file.h"
#include "tools/json.h"
#include "tools/named_program.h"
#include "tools/outputs.h"
#include "transpiler/test_program.h"

namespace fixpoint {
namespace {

std::string OutputOf(const std::string& program, const std::string& output,
                     const std::string& word) {
  if (!output.empty()) return output;
  return program == "-" ? "-" : Beside(program, word);
}

// A result goes to standard output, unless the program does.
absl::Status Tell(const std::string& text, bool output_is_taken) {
  if (!output_is_taken) return WriteStandardOutput(text);
  std::cerr << text;
  return absl::OkStatus();
}

struct Written {
  std::string output;         // "" where none was written
  std::string params_output;  // likewise
};

std::string FreezeText(const std::string& program, const FrozenModel& model,
                       const Written& written) {
  std::string text;
  for (const std::string& note : model.notes) absl::StrAppend(&text, program, ": ", note, "\n");
  absl::StrAppend(&text, "quantized weights: ", model.weights.count, ", ",
                  model.weights.float_bytes, " bytes of float, ", model.weights.code_bytes,
                  " bytes of codes\n");
  if (!written.output.empty()) absl::StrAppend(&text, "wrote ", written.output, "\n");
  if (!written.params_output.empty()) absl::StrAppend(&text, "wrote ", written.params_output, "\n");
  return text;
}

std::string FreezeJson(const std::string& program, const FrozenModel& model,
                       const Written& written) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema_version").Int(kSchemaVersion);
  json.Key("program").String(program);
  json.Key("output").String(written.output);
  json.Key("params_output").String(written.params_output);
  json.Key("quantized_weights").Int(model.weights.count);
  json.Key("float_bytes").Int(model.weights.float_bytes);
  json.Key("code_bytes").Int(model.weights.code_bytes);
  json.Key("notes").BeginArray();
  for (const std::string& note : model.notes) json.String(note);
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace

absl::StatusOr<ExitCode> RunTestCommand(const TestCommand& command) {
  ASSIGN_OR_RETURN(const NamedProgram training, LoadNamedProgram(command.program));
  const std::string output = OutputOf(command.program, command.output, "test");
  Outputs outputs({command.program});
  RETURN_IF_ERROR(ClaimProgram(output, training.format, &outputs));
  ASSIGN_OR_RETURN(const Program test, MakeTestProgram(training.program));
  if (command.dry_run) return kDone;
  RETURN_IF_ERROR(StageProgram(test, training.format, output, &outputs));
  RETURN_IF_ERROR(outputs.Commit());
  RETURN_IF_ERROR(Tell(absl::StrCat("wrote ", output, "\n"), output == "-"));
  return kDone;
}

absl::StatusOr<ExitCode> RunFreezeCommand(const FreezeCommand& command) {
  if (command.params.empty()) {
    return UsageError(
        "--mode=freeze wants the trained parameters: --params=FILE or --params=FOLDER");
  }
  ASSIGN_OR_RETURN(const NamedProgram trained, LoadNamedProgram(command.program));
  const std::string output = OutputOf(command.program, command.output, "frozen");
  Outputs outputs({command.program, command.params});
  RETURN_IF_ERROR(ClaimProgram(output, trained.format, &outputs));
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(command.params, error);
  std::string params_output = command.params_output;
  if (params_output.empty()) {
    params_output = Beside(std::string(absl::StripSuffix(command.params, "/")), "frozen");
  }
  RETURN_IF_ERROR(outputs.Claim(params_output));
  ASSIGN_OR_RETURN(const Scope scope, LoadParameters(trained.program.Proto(), command.params));
  ASSIGN_OR_RETURN(const FrozenModel model, Freeze(trained.program, scope, command.options));
  Written written;
  if (!command.dry_run) {
    const ProgramDesc& program = model.program.Proto();
    RETURN_IF_ERROR(StageProgram(model.program, trained.format, output, &outputs));
    RETURN_IF_ERROR(is_folder ? SaveSeparateParameters(program, model.scope, params_output)
                              : SaveCombinedParameters(program, model.scope, params_output));
    RETURN_IF_ERROR(outputs.Commit());
    written = {output, params_output};
  }
  RETURN_IF_ERROR(Tell(command.json ? FreezeJson(command.program, model, written)
                                    : FreezeText(command.program, model, written),
                       written.output == "-"));
  return kDone;
}

}  // namespace fixpoint
