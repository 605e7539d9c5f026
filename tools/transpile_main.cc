#include "tools/transpile_main.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/quantizer_table.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "runtime/row_formats.h"
#include "tools/command_line.h"
#include "tools/inference_modes.h"
#include "tools/mode_flags.h"
#include "tools/named_program.h"
#include "tools/named_quantizers.h"
#include "tools/pipeline_flags.h"
#include "tools/plugin_flags.h"
#include "tools/rewrite_mode.h"
#include "tools/train_modes.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/lower/lower.h"
#include "transpiler/lower/lower_passes.h"
#include "transpiler/patterns/pattern_file.h"
#include "transpiler/patterns/pattern_pass.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/plan/target.h"
#include "transpiler/prepare/prepare.h"
#include "transpiler/prepare/prepare_passes.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

DEFINE_string(mode, "train",
              "train: quantize a program; test: make a test program from it; rewrite: apply "
              "patterns; prepare: make a float program one that quantizes well; freeze: make the "
              "int8 program; lower: make it compute on integers.");
DEFINE_string(config, "",
              "Configuration: protobuf text (proto/config/quant_config.proto), or JSON of NNI or "
              "PaddlePaddle.");
DEFINE_string(target, "",
              "Built-in target, or target file (whose path has a / or a .); overrides the "
              "configuration's.");
DEFINE_string(quantizers, "",
              "Files of quantizers as text, comma separated, that the configuration can name.");
DEFINE_string(fc_weights, "",
              "How weights of fully connected layers are quantized: per_tensor, per_channel or "
              "per_row, each row with a zero point; overrides the configuration's.");
DEFINE_string(startup, "", "Startup program, rewritten too.");
DEFINE_string(output, "", "Where to write the program; by default beside the input; - for stdout.");
DEFINE_string(startup_output, "",
              "Where to write the startup program; by default beside that of --startup, or else "
              "beside the output.");
DEFINE_string(
    params, "",
    "Parameters of the program, a combined file or a folder: to prepare, freeze or lower it "
    "with, or to add the initial values of new variables to.");
DEFINE_string(
    params_output, "",
    "Where to write the new parameters, in the form of --params; by default beside them.");
DEFINE_string(feeds, "",
              "Inputs of the frozen program, comma separated; by default those of the program.");
DEFINE_string(fetches, "",
              "Outputs of the frozen program, comma separated; by default those of the program.");
DEFINE_string(frozen_form, "portable",
              "portable: int8 weights and quantize_linear ops; legacy: codes as FP32 values, as "
              "the reference's freeze; legacy_int8: the same stored as int8.");
DEFINE_bool(fold_batch_norm, false,
            "Fold batch norms into the weights before them, for weights with one scale.");
DEFINE_bool(equalize_weights, false,
            "Scale channels between products so that both weights have one range for each; folds "
            "batch norms too.");
DEFINE_bool(add_biases, false, "Give products without a bias one of zeros.");
DEFINE_bool(split_layer_norms, false,
            "Give products a layer norm of their own where other ops read its result too.");
DEFINE_string(pack_tables, "",
              "Store lookup tables of floats as rows of codes: paddle_dequant, fused4_fp16, ...");
DEFINE_bool(allow_dynamic, false,
            "Allow a frozen program to find ranges of activations as it runs.");
DEFINE_string(plan, "", "Follow this plan instead of making one.");
DEFINE_string(save_plan, "", "Write the plan to this file.");
DEFINE_string(
    profile, "",
    "Ranges that quantizers start with: a profile of calibrate, or ranges of another tool.");
DEFINE_bool(dry_run, false, "Do everything except writing programs and parameters.");
DEFINE_bool(explain, false, "Print each op's decision, reason and rule.");
DEFINE_bool(json, false, "Print the report as JSON.");
DEFINE_bool(undo, false, "Restore the program as it was before.");
DEFINE_string(print_after, "", "Print the program after these passes (comma separated, or all).");
DEFINE_string(stop_after, "", "End after this pass.");
DEFINE_string(pass_pipeline, "", "The passes to run, comma separated; patterns are passes.");
DEFINE_string(patterns, "",
              "Patterns to rewrite by: built-in ones, or a file (whose path has a / or a .).");

namespace fixpoint {
namespace {

std::vector<ModeFlags> Modes() {
  return {{"train",
           {"output", "dry_run", "json", "print_after", "stop_after", "config", "target",
            "quantizers", "fc_weights", "plan", "profile", "startup", "startup_output", "params",
            "params_output", "save_plan", "explain", "pass_pipeline", "patterns"}},
          {"test", {"output", "dry_run"}},
          {"rewrite",
           {"output", "dry_run", "json", "print_after", "stop_after", "explain", "pass_pipeline",
            "patterns", "target", "quantizers"}},
          {"prepare",
           {"output", "dry_run", "json", "print_after", "stop_after", "params", "params_output",
            "explain", "pass_pipeline", "patterns", "fold_batch_norm", "equalize_weights",
            "add_biases", "split_layer_norms"}},
          {"freeze",
           {"output", "dry_run", "json", "print_after", "stop_after", "params", "params_output",
            "pass_pipeline", "patterns", "feeds", "fetches", "frozen_form", "allow_dynamic",
            "pack_tables"}},
          {"lower",
           {"output", "dry_run", "json", "print_after", "stop_after", "params", "params_output",
            "explain", "pass_pipeline", "patterns"}},
          {"undo", {"output", "dry_run"}}};
}

ToolHelp Help() {
  ToolHelp help;
  help.name = "transpile";
  help.purpose =
      "Rewrites a training program to simulate integers, and makes integer programs of it.";
  help.usage = {"transpile PROGRAM [flags]           quantize, and write PROGRAM.quantized",
                "transpile --mode=test PROGRAM       write PROGRAM.test, for evaluation",
                "transpile --mode=rewrite --patterns=FILE PROGRAM",
                "                                    write PROGRAM.rewritten, by patterns",
                "transpile --mode=prepare --params=FILE PROGRAM",
                "                                    write a float program that quantizes well",
                "transpile --mode=freeze --params=FILE PROGRAM",
                "                                    write the int8 program and its parameters",
                "transpile --mode=lower --params=FILE PROGRAM",
                "                                    write one that computes on integers",
                "transpile --undo PROGRAM [flags]    restore the original"};
  help.flag_groups = {{"What to do:", {"mode", "undo", kPluginFlag}}};
  for (FlagGroup& group : FlagGroupsOf(Modes())) help.flag_groups.push_back(std::move(group));
  help.examples = {"transpile examples/data/lenet.train.txt",
                   "transpile --target=onednn_int8 --explain --dry_run "
                   "examples/data/lenet.train.txt"};
  help.repeatable = {kPluginFlag};
  return help;
}

// What a run has beside the built-in passes and quantizers.
struct Additions {
  std::vector<Pattern> patterns;  // of --patterns
  Extensions extensions;          // linked in, and of --plugin
  QuantizerTable quantizers;      // with those of the extensions
};

absl::StatusOr<std::vector<Pattern>> NamedPatterns() {
  if (FLAGS_patterns.empty()) return std::vector<Pattern>();
  absl::StatusOr<std::vector<Pattern>> loaded = LoadPatterns(FLAGS_patterns);
  if (!loaded.ok() && !IsPatternFile(FLAGS_patterns)) {
    return UsageError(absl::StrCat("--patterns: ", loaded.status().message()));
  }
  return loaded;
}

// The target of --target.
absl::StatusOr<Target> NamedTarget(const QuantizerTable& quantizers) {
  if (IsTargetFile(FLAGS_target)) return LoadTarget(FLAGS_target, quantizers);
  absl::StatusOr<Target> target = BuiltInTarget(FLAGS_target);
  if (!target.ok()) return UsageError(absl::StrCat("--target: ", target.status().message()));
  return target;
}

// The passes of a mode, and more of them. A usage error for patterns that no pass of the pipeline
// is.
absl::StatusOr<const PassTable*> PassesWith(const Additions& additions, PassTable built_in) {
  if (!additions.patterns.empty() && FLAGS_pass_pipeline.empty()) {
    return UsageError("--patterns: name those to apply among the passes of --pass_pipeline");
  }
  PassTable& passes = KeepUntilExit(std::move(built_in));
  RETURN_IF_ERROR(AddCompositePasses(&passes));
  RETURN_IF_ERROR(additions.extensions.AddPassesTo(&passes));
  RETURN_IF_ERROR(AddPatternPasses(additions.patterns, &passes));
  return &passes;
}

// A usage error if --pass_pipeline is given and no pipeline.
absl::Status CheckPipeline(const absl::Status& parsed) {
  if (FLAGS_pass_pipeline.empty() || parsed.ok()) return absl::OkStatus();
  return UsageError(absl::StrCat("--pass_pipeline: ", parsed.message()));
}

// What --print_after and --stop_after ask of --pass_pipeline or, without one, of that pipeline.
absl::StatusOr<PipelineOptions> OptionsOfPipeline(const std::string& otherwise) {
  return MakePipelineOptions({FLAGS_print_after, FLAGS_stop_after},
                             FLAGS_pass_pipeline.empty() ? otherwise : FLAGS_pass_pipeline);
}

absl::StatusOr<ExitCode> Train(const std::string& path, const Additions& additions) {
  TrainCommand command;
  command.program = path;
  command.startup = FLAGS_startup;
  command.config = FLAGS_config;
  command.target = FLAGS_target;
  command.quantizers = FLAGS_quantizers;
  command.fc_weights = FLAGS_fc_weights;
  command.plan = FLAGS_plan;
  command.profile = FLAGS_profile;
  command.output = FLAGS_output;
  command.startup_output = FLAGS_startup_output;
  command.params = FLAGS_params;
  command.params_output = FLAGS_params_output;
  command.save_plan = FLAGS_save_plan;
  command.pipeline = FLAGS_pass_pipeline;
  command.patterns = FLAGS_patterns;
  command.extensions = &additions.extensions;
  ASSIGN_OR_RETURN(command.passes, PassesWith(additions, TrainPasses()));
  RETURN_IF_ERROR(CheckPipeline(ParseTrainPipeline(command.pipeline, *command.passes).status()));
  ASSIGN_OR_RETURN(command.pipeline_options, OptionsOfPipeline(kTrainPipeline));
  command.dry_run = FLAGS_dry_run;
  command.explain = FLAGS_explain;
  command.json = FLAGS_json;
  return RunTrainCommand(command);
}

ModelCommand MakeModelCommand(const std::string& path) {
  return {path,          FLAGS_params, FLAGS_output,  FLAGS_params_output,
          FLAGS_dry_run, FLAGS_json,   FLAGS_explain, FLAGS_patterns};
}

absl::StatusOr<ExitCode> Rewrite(const std::string& path, const Additions& additions) {
  const std::vector<Pattern>& patterns = additions.patterns;
  if (patterns.empty() && FLAGS_pass_pipeline.empty()) {
    return UsageError(absl::StrCat(
        "--mode=rewrite needs patterns: --patterns=FILE, or built-in ones (",
        absl::StrJoin(BuiltInPatternFiles(), ", "), "); or the passes of --pass_pipeline"));
  }
  RewriteOptions options;
  ASSIGN_OR_RETURN(PassTable passes, RewritePasses(patterns));
  RETURN_IF_ERROR(AddCompositePasses(&passes));
  RETURN_IF_ERROR(additions.extensions.AddPassesTo(&passes));
  options.passes = &passes;
  ASSIGN_OR_RETURN(const NamedQuantizers quantizers,
                   LoadQuantizers(FLAGS_quantizers, additions.extensions.Quantizers()));
  options.quantizers = &quantizers.table;
  if (!FLAGS_target.empty()) {
    ASSIGN_OR_RETURN(const Target target, NamedTarget(quantizers.table));
    options.raised_types.emplace(target.composites().begin(), target.composites().end());
  }
  RETURN_IF_ERROR(CheckPipeline(Pipeline::Parse(FLAGS_pass_pipeline, passes).status()));
  ASSIGN_OR_RETURN(options.pipeline_options, OptionsOfPipeline(options.pipeline));
  if (!FLAGS_pass_pipeline.empty()) options.pipeline = FLAGS_pass_pipeline;
  options.explain = FLAGS_explain;
  return RunRewriteCommand({path, FLAGS_patterns, FLAGS_output, FLAGS_dry_run, FLAGS_json},
                           patterns, options);
}

absl::StatusOr<ExitCode> Prepare(const std::string& path, const Additions& additions) {
  PrepareOptions options;
  options.fold_batch_norm = FLAGS_fold_batch_norm;
  options.equalize_weights = FLAGS_equalize_weights;
  options.add_biases = FLAGS_add_biases;
  options.split_layer_norms = FLAGS_split_layer_norms;
  options.pipeline = FLAGS_pass_pipeline;
  if (!options.pipeline.empty() && (options.fold_batch_norm || options.equalize_weights ||
                                    options.add_biases || options.split_layer_norms)) {
    return UsageError(
        "--pass_pipeline names the passes; leave out --fold_batch_norm, --equalize_weights, "
        "--add_biases and --split_layer_norms, which are passes too");
  }
  options.quantizers = &additions.quantizers;
  ASSIGN_OR_RETURN(options.passes, PassesWith(additions, PreparePasses()));
  RETURN_IF_ERROR(CheckPipeline(ParsePreparePipeline(options.pipeline, *options.passes).status()));
  ASSIGN_OR_RETURN(options.pipeline_options, OptionsOfPipeline(PreparePipelineOf(options)));
  return RunPrepareCommand(MakeModelCommand(path), options);
}

bool Names(const Pipeline& pipeline, absl::string_view pass) {
  return std::any_of(pipeline.passes().begin(), pipeline.passes().end(),
                     [pass](const Pass* one) { return one->name() == pass; });
}

absl::StatusOr<ExitCode> Freeze(const std::string& path, const Additions& additions) {
  FreezeOptions options;
  options.feeds = SplitNames(FLAGS_feeds);
  options.fetches = SplitNames(FLAGS_fetches);
  options.allow_dynamic = FLAGS_allow_dynamic;
  if (!FLAGS_pack_tables.empty()) {
    const absl::StatusOr<RowFormat> format = RowFormatOf(FLAGS_pack_tables);
    if (!format.ok()) {
      return UsageError(absl::StrCat("--pack_tables: ", format.status().message()));
    }
    options.pack_tables = *format;
  }
  if (FLAGS_frozen_form == "legacy") {
    options.form = FrozenForm::kLegacy;
  } else if (FLAGS_frozen_form == "legacy_int8") {
    options.form = FrozenForm::kLegacyInt8;
  } else if (FLAGS_frozen_form != "portable") {
    return UsageError(absl::StrCat("--frozen_form=", FLAGS_frozen_form,
                                   "; there are portable, legacy and legacy_int8"));
  }
  options.pipeline = FLAGS_pass_pipeline;
  options.quantizers = &additions.quantizers;
  ASSIGN_OR_RETURN(options.passes, PassesWith(additions, FreezePasses()));
  const absl::StatusOr<Pipeline> own =
      ParseFreezePipeline(options.pipeline, options.form, *options.passes);
  RETURN_IF_ERROR(CheckPipeline(own.status()));
  if (own.ok() && options.pack_tables.has_value() && !Names(*own, "pack_tables")) {
    return UsageError(
        "--pack_tables: the pass that it is for, pack_tables, is not named by --pass_pipeline; put "
        "it before quantize_weights");
  }
  ASSIGN_OR_RETURN(options.pipeline_options, OptionsOfPipeline(FreezePipelineOf(options)));
  return RunFreezeCommand(MakeModelCommand(path), options);
}

absl::StatusOr<ExitCode> Lower(const std::string& path, const Additions& additions) {
  LowerOptions options;
  options.pipeline = FLAGS_pass_pipeline;
  options.quantizers = &additions.quantizers;
  ASSIGN_OR_RETURN(options.passes, PassesWith(additions, LowerPasses()));
  RETURN_IF_ERROR(CheckPipeline(ParseLowerPipeline(options.pipeline, *options.passes).status()));
  ASSIGN_OR_RETURN(options.pipeline_options, OptionsOfPipeline(kLowerPipeline));
  return RunLowerCommand(MakeModelCommand(path), options);
}

absl::StatusOr<ExitCode> Run(const CommandLine& line,
                             const std::function<absl::Status(Extensions&)>& extend) {
  if (line.arguments.size() != 1) {
    return UsageError(absl::StrCat("want one program; got ", line.arguments.size()));
  }
  const std::string& path = line.arguments[0];
  if (FLAGS_mode != "train" && FLAGS_mode != "test" && FLAGS_mode != "rewrite" &&
      FLAGS_mode != "prepare" && FLAGS_mode != "freeze" && FLAGS_mode != "lower") {
    const std::string nearest =
        DidYouMean(FLAGS_mode, {"train", "test", "rewrite", "prepare", "freeze", "lower"});
    return UsageError(absl::StrCat("--mode=", FLAGS_mode, nearest,
                                   "; there are train, test, rewrite, prepare, freeze and lower"));
  }
  if (FLAGS_undo && std::count(line.flags.begin(), line.flags.end(), "mode") > 0) {
    return UsageError("--undo has no modes; leave --mode out");
  }
  const std::string mode = FLAGS_undo ? "undo" : FLAGS_mode;
  RETURN_IF_ERROR(CheckFlagsOfMode(mode, Modes(), line.flags));
  Additions& additions = KeepUntilExit(Additions());
  if (extend) RETURN_IF_ERROR(extend(additions.extensions));
  RETURN_IF_ERROR(LoadPlugins(&additions.extensions));
  additions.quantizers = additions.extensions.Quantizers();
  if (mode == "undo") return RunUndoCommand({path, FLAGS_output, FLAGS_dry_run});
  if (mode == "test") {
    return RunTestCommand({path, FLAGS_output, FLAGS_dry_run, &additions.quantizers});
  }
  ASSIGN_OR_RETURN(additions.patterns, NamedPatterns());
  if (mode == "train") return Train(path, additions);
  if (mode == "rewrite") return Rewrite(path, additions);
  if (mode == "prepare") return Prepare(path, additions);
  if (mode == "freeze") return Freeze(path, additions);
  return Lower(path, additions);
}

}  // namespace

int TranspileMain(int argc, const char* const* argv,
                  const std::function<absl::Status(Extensions&)>& extend) {
  return RunTool(argc, argv, Help(), [&](const CommandLine& line) { return Run(line, extend); });
}

}  // namespace fixpoint
