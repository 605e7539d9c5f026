#include "tests/testing/golden_inference.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ops/codes/integer_reasons.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/row_formats.h"
#include "tests/testing/parameter_text.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/lower/lower.h"
#include "transpiler/pipeline/pipeline.h"
#include "transpiler/prepare/prepare.h"
#include "transpiler/report/lowering_account.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

absl::StatusOr<Scope> CopyOf(const Scope& scope) {
  Scope copy;
  for (const auto& [name, value] : scope) {
    ASSIGN_OR_RETURN(Scope::Value held, Scope::CloneOf(value));
    copy.Set(name, std::move(held));
  }
  return copy;
}

absl::StatusOr<FrozenModel> RunPasses(const Program& program, const Scope& scope,
                                      const std::string& passes_text,
                                      const FreezeOptions& options) {
  const QuantizerTable quantizers;
  const PassTable passes = FreezePasses();
  ASSIGN_OR_RETURN(const Pipeline pipeline,
                   Pipeline::Parse(passes_text, passes, {"trained_parameters"}));
  FreezeContext context(quantizers, &scope);
  ASSIGN_OR_RETURN(Scope held, CopyOf(scope));
  FrozenModel made{program.Clone(), std::move(held), {}, {}};
  context.feeds = options.feeds;
  context.fetches = options.fetches;
  RETURN_IF_ERROR(pipeline.Run(made.program, context, options.pipeline_options));
  made.notes = std::move(context.notes);
  return made;
}

absl::StatusOr<FreezeOptions> OptionsOf(const Golden& golden) {
  FreezeOptions options;
  options.feeds = absl::StrSplit(golden.Setting("feeds"), ", ", absl::SkipEmpty());
  options.fetches = absl::StrSplit(golden.Setting("fetches"), ", ", absl::SkipEmpty());
  options.allow_dynamic = golden.Setting("allow_dynamic") == "true";
  if (const std::string format = golden.Setting("pack_tables"); !format.empty()) {
    ASSIGN_OR_RETURN(options.pack_tables, RowFormatOf(format));
  }
  const std::string form = golden.Setting("form");
  if (form == "legacy") {
    options.form = FrozenForm::kLegacy;
  } else if (form == "legacy_int8") {
    options.form = FrozenForm::kLegacyInt8;
  } else if (!form.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("form: ", form, " is none"));
  }
  return options;
}

// What became of the ops of each type, a line each, in front of the notes.
std::vector<std::string> AccountLines(const std::vector<LoweredOp>& ops,
                                      std::vector<std::string> notes) {
  std::vector<std::string> lines;
  for (const LoweredType& type : CountByType(ops)) {
    for (const auto& [reason, count] : type.ops) {
      lines.push_back(
          absl::StrCat(type.op_type, ": ", count, " ", std::string(IntegerReasonCode(reason))));
    }
  }
  lines.insert(lines.end(), notes.begin(), notes.end());
  return lines;
}

// Prepares a program; undoing that has to give the same bytes again.
absl::StatusOr<FrozenModel> PrepareAndUndo(const Program& program, const Scope& scope,
                                           const std::string& pipeline) {
  PrepareOptions options;
  options.pipeline = pipeline;
  ASSIGN_OR_RETURN(PreparedModel prepared, Prepare(program, scope, options));
  ASSIGN_OR_RETURN(Program undone, Program::Create(prepared.program.Proto()));
  if (undone.Proto().has_edit_log()) RETURN_IF_ERROR(Untranspile(&undone));
  if (undone.Proto().SerializeAsString() != program.Proto().SerializeAsString()) {
    return absl::InternalError("undoing the preparation gives another program");
  }
  return FrozenModel{
      std::move(prepared.program), std::move(prepared.scope), {}, std::move(prepared.notes)};
}

absl::StatusOr<FrozenModel> Make(const Golden& golden, const Program& program, const Scope& scope) {
  ASSIGN_OR_RETURN(const FreezeOptions options, OptionsOf(golden));
  const std::string mode = golden.Setting("mode");
  if (mode == "freeze") return Freeze(program, scope, options);
  if (mode == "lower") {
    ASSIGN_OR_RETURN(LoweredModel lowered, Lower(program, scope));
    return FrozenModel{std::move(lowered.program),
                       std::move(lowered.scope),
                       {},
                       AccountLines(lowered.ops, std::move(lowered.notes))};
  }
  if (mode == "prepare") return PrepareAndUndo(program, scope, golden.Setting("pipeline"));
  if (mode == "passes") return RunPasses(program, scope, golden.Setting("pipeline"), options);
  if (mode != "test") return absl::InvalidArgumentError(absl::StrCat("mode: ", mode, " is none"));
  ASSIGN_OR_RETURN(Program test, MakeTestProgram(program));
  ASSIGN_OR_RETURN(Scope held, CopyOf(scope));
  return FrozenModel{std::move(test), std::move(held), {}, {}};
}

}  // namespace

absl::StatusOr<Golden> RegenerateInference(const Golden& golden, absl::string_view name) {
  Golden made = golden;
  ASSIGN_OR_RETURN(const Program program,
                   ParseGoldenProgram(*golden.Section("program"), "program.txt"));
  Scope scope;
  if (const std::string* text = golden.Section("parameters")) {
    ASSIGN_OR_RETURN(scope, ParseParameters(*text, name));
  }
  const std::string program_before = program.Proto().SerializeAsString();
  const std::string scope_before = PrintParameters(scope);
  const absl::StatusOr<FrozenModel> model = Make(golden, program, scope);
  if (program.Proto().SerializeAsString() != program_before ||
      PrintParameters(scope) != scope_before) {
    return absl::InternalError(absl::StrCat(name, ": what was given is changed"));
  }
  if (!model.ok() && golden.Section("error") == nullptr) return model.status();
  const bool marks = golden.Setting("show") == "marks";
  for (auto& [section, text] : made.sections) {
    if (section == "error") {
      text = model.ok() ? "(no error)\n"
                        : absl::StrCat(absl::StatusCodeToString(model.status().code()), ": ",
                                       std::string(model.status().message()), "\n");
    } else if (section == "becomes") {
      text = PrintGoldenProgram(model->program, marks);
    } else if (section == "parameters become") {
      text = PrintParameters(model->scope);
    } else if (section == "notes") {
      text = absl::StrCat(absl::StrJoin(model->notes, "\n"), "\n");
    } else if (section != "program" && section != "parameters") {
      return absl::InvalidArgumentError(absl::StrCat(name, ": unknown section ", section));
    }
  }
  return made;
}

}  // namespace fixpoint
