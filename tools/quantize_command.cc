#include "tools/quantize_command.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/training/metric.h"
#include "tools/evaluation_report.h"
#include "tools/inference_inputs.h"
#include "tools/interruptible_samples.h"
#include "tools/interruption.h"
#include "tools/named_config.h"
#include "tools/named_parameters.h"
#include "tools/named_program.h"
#include "tools/named_quantizers.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"
#include "tools/progress_line.h"
#include "tools/quantize_json.h"
#include "tools/staged_report.h"
#include "transpiler/extensions/extensions.h"
#include "transpiler/quantize/network_cost.h"
#include "transpiler/quantize/quantize.h"
#include "transpiler/report/account.h"
#include "transpiler/report/layers.h"

namespace fixpoint {
namespace {

// Where a run saves what it has measured.
std::string StateOf(const std::string& output) {
  return absl::StrCat(absl::StripSuffix(output, "/"), ".partial");
}

// The program, and what it is quantized by.
std::vector<std::string> NamedFiles(const QuantizeCommand& command) {
  std::vector<std::string> paths = SplitNames(command.quantizers);
  for (const std::string& path : {command.from.program, command.config, command.target}) {
    paths.push_back(path);
  }
  return paths;
}

// A usage error if the output is no folder that can be written beside the inputs.
absl::Status CheckOutput(const QuantizeCommand& command, const Program& program) {
  if (command.from.output == "-") {
    return UsageError("--output=-: the result is several files; want a folder");
  }
  std::vector<std::string> inputs = ParameterInputs(command.from.params, program.Proto());
  for (std::string& path : NamedFiles(command)) inputs.push_back(std::move(path));
  for (const std::string& path : FilesOf(command.from.data)) inputs.push_back(path);
  Outputs outputs(std::move(inputs));
  RETURN_IF_ERROR(outputs.Claim(command.from.output));
  return outputs.Claim(StateOf(command.from.output));
}

absl::StatusOr<std::unique_ptr<SampleSet>> OpenInterruptible(const DataSource& source,
                                                             DataPart part) {
  ASSIGN_OR_RETURN(std::unique_ptr<SampleSet> samples, OpenData(source, part));
  return std::make_unique<InterruptibleSamples>(std::move(samples));
}

// The samples to measure on, where they are not those for ranges.
absl::StatusOr<std::unique_ptr<SampleSet>> OpenMeasured(const QuantizeCommand& command) {
  if (command.eval_data) return OpenInterruptible(*command.eval_data, DataPart::kTest);
  if (HasTestPart(command.from.data)) return OpenInterruptible(command.from.data, DataPart::kTest);
  return nullptr;
}

// "computed on integers: 6 of 6 ops (100 %)": ops of the network, as the report counts them.
std::string IntegersText(const QuantizedNetwork& network) {
  const QuantizedOps ops = CountQuantizedOps(network.report);
  return absl::StrCat("computed on integers: ", ops.done, " of ", ops.decided, " ops (",
                      ops.decided == 0 ? 0 : 100 * ops.done / ops.decided, " %)\n");
}

std::string ComparisonText(const QuantizedNetwork& network) {
  std::string text = absl::StrCat(
      "simulated, portable and lowered programs agree to the bit: ", network.agreement.elements,
      " elements on ", network.compared_samples,
      network.compared_samples == 1 ? " sample" : " samples");
  if (network.agreement.ties > 0) {
    absl::StrAppend(&text, ", but for ", network.agreement.ties, " that round a tie");
  }
  text += "\n";
  for (const ComparedVariable& variable : network.noise) {
    const std::vector<std::string>& outputs = network.outputs;
    if (std::count(outputs.begin(), outputs.end(), variable.name) == 0) continue;
    absl::StrAppendFormat(&text, "signal to noise ratio of %s: %.1f dB\n", variable.name,
                          variable.SignalToNoise());
  }
  return text;
}

// "auc (larger is better)": of a variable it is not known which way is better but from its sign.
std::string MetricLabel(const std::string& name) {
  if (!Metric::OfName(name).is_variable()) return name;
  return absl::StrCat(name, absl::StartsWith(name, "-") ? " (less" : " (larger", " is better)");
}

// The unit of what was measured: "%", or "".
std::string UnitOf(const QuantizeCommand& command) {
  return command.metric.empty() ? "" : std::string(Metric::OfName(command.metric).unit());
}

// "0.12 points" between two percentages.
std::string DropText(double drop, absl::string_view unit) {
  return unit.empty() ? MeasuredText(drop, unit) : absl::StrFormat("%.2f points", drop);
}

std::string MetricText(const QuantizeCommand& command, const QuantizedNetwork& network) {
  if (!network.measured) return "";
  const MeasuredDrop& measured = *network.measured;
  const std::string unit = UnitOf(command);
  std::string text = absl::StrCat(MetricLabel(command.metric), ": ",
                                  MeasuredText(measured.before.value, unit), " in float");
  if (measured.before.standard_error) {
    absl::StrAppend(&text, " (standard error ", MeasuredText(*measured.before.standard_error, unit),
                    ")");
  }
  return absl::StrCat(text, ", ", MeasuredText(measured.after.value, unit), " on integers, on ",
                      measured.samples, " samples: drop ", DropText(measured.drop, unit), "\n");
}

// What flags name of the program's inputs and outputs. Usage errors: those of
// FindVariablesForFlags and FindNetworkEnds.
absl::Status FindEnds(const QuantizeCommand& command, const Program& program,
                      QuantizeOptions* options) {
  const std::string& path = command.from.program;
  options->named = command.variables;
  options->inputs = InputsOf(command.from.data);
  RETURN_IF_ERROR(
      FindVariablesForFlags(program, path, command.variables, options->inputs).status());
  if (!FetchedVariables(program).empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(NetworkEnds ends,
                   FindNetworkEnds(program, path, {}, command.variables, "--scores=NAME"));
  options->outputs = std::move(ends.outputs);
  return absl::OkStatus();
}

// "kept in float: 2 of 8 layers: conv1.out, logits", and whether that is enough.
std::string FoundText(const QuantizeCommand& command, const QuantizedNetwork& network) {
  if (!network.found) return "";
  const FoundPlan& found = *network.found;
  std::map<std::string, std::vector<std::string>> outputs;  // by where they are kept
  for (const RaisedLayer& layer : found.raised) {
    outputs[absl::StrCat(layer.is_float ? "in " : "at ", layer.level)].push_back(layer.output);
  }
  std::string text;
  for (const auto& [where, names] : outputs) {
    absl::StrAppend(&text, "kept ", where, ": ", names.size(), " of ", found.layers,
                    " layers: ", absl::StrJoin(names, ", "), "\n");
  }
  const auto amount = [&command](double number) {
    return command.budget ? CostText(command.budget->of, number)
                          : absl::StrCat("a drop of ", DropText(number, UnitOf(command)));
  };
  const double most = command.budget ? command.budget->most : *command.max_drop;
  absl::StrAppend(&text, found.holds ? "the bound holds: " : "no plan holds the bound; the best: ",
                  amount(found.reached), found.holds ? " of at most " : "; wanted is at most ",
                  command.budget ? amount(most) : absl::StrCat(most), "; ", found.measurements,
                  " measurements\n");
  return text;
}

std::string CostsText(const QuantizedNetwork& network) {
  const NetworkCost& before = network.float_cost;
  const NetworkCost& after = network.lowered_cost;
  std::string text = absl::StrFormat("parameters: %d bytes in float, %d on integers\n",
                                     before.parameter_bytes, after.parameter_bytes);
  if (before.milliseconds && after.milliseconds) {
    absl::StrAppendFormat(&text, "expected time of a run: %.3f ms in float, %.3f ms on integers\n",
                          *before.milliseconds, *after.milliseconds);
  }
  return text;
}

std::string InterruptedText(const std::string& state) {
  return std::filesystem::exists(state)
             ? absl::StrCat("interrupted: ", state, " has what was measured and learned so far; ",
                            "the same command with --resume goes on from there\n")
             : "interrupted: nothing was written\n";
}

// What a report says of the command line and of the search. Files are named without their folders.
void Describe(const QuantizeCommand& command, QuantizedNetwork* network) {
  RunReport* const report = &network->report;
  report->set_tool("quantize");
  report->set_program(NameInReport(command.from.program));
  const auto set = [report](const char* name, const std::string& value) {
    AddSetting(name, value, report);
  };
  if (!command.config.empty()) set("configuration", NameInReport(command.config));
  set("data", NameInReport(command.from.data));
  if (command.eval_data) set("measured on", NameInReport(*command.eval_data));
  if (!command.metric.empty()) set("metric", command.metric);
  set("samples", absl::StrCat(command.from.samples));
  set("seed", absl::StrCat(command.from.seed));
  if (command.equalize) set("equalize", "yes");
  if (command.weights.smooth) set("smooth", "yes");
  if (command.weights.rounding) set("rounding", "learned");
  if (command.weights.correct_biases) set("correct_biases", "yes");
  if (command.max_drop) set("max_drop", absl::StrCat(*command.max_drop));
  if (command.budget) set("budget", CostText(command.budget->of, command.budget->most));
  const std::string found = FoundText(command, *network);
  for (absl::string_view line : absl::StrSplit(found, '\n', absl::SkipEmpty())) {
    report->add_notes(std::string(line));
  }
}

}  // namespace

absl::StatusOr<ExitCode> RunQuantizeCommand(const QuantizeCommand& command) {
  RETURN_IF_ERROR(CheckInputs(NamedFiles(command)));
  ASSIGN_OR_RETURN(NamedConfig config, LoadNamedConfig(command.config, command.target));
  ASSIGN_OR_RETURN(NamedQuantizers quantizers,
                   LoadQuantizers(command.quantizers, command.extensions->Quantizers()));
  ASSIGN_OR_RETURN(const NamedProgram named, LoadNamedProgram(command.from.program));
  const Program& program = named.program;
  RETURN_IF_ERROR(CheckOutput(command, program));
  const std::string state = StateOf(command.from.output);
  const bool has_state = std::filesystem::exists(state);
  if (!command.from.resume && has_state) {
    return UsageError(absl::StrCat("--output=", command.from.output, ": ", state,
                                   " has what a run that was interrupted has measured; go on with "
                                   "it (--resume), or remove it"));
  }
  RETURN_IF_ERROR(CheckEndsAreDeclared(program, command.from.program));
  ASSIGN_OR_RETURN(const Scope parameters,
                   LoadScope(program, command.from.program, "params", command.from.params));
  QuantizeOptions options;
  RETURN_IF_ERROR(FindEnds(command, program, &options));
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> samples,
                   OpenInterruptible(command.from.data, DataPart::kTraining));
  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> measured, OpenMeasured(command));
  options.config = std::move(config.config);
  options.names.config = config.name;
  options.quantizers = &quantizers.table;
  options.quantizer_texts = std::move(quantizers.texts);
  options.checks = &command.extensions->checks();
  options.prepare.fold_batch_norm = command.fold_batch_norm;
  options.prepare.equalize_weights = command.equalize;
  options.weights = command.weights;
  if (options.weights.rounding) options.weights.rounding->seed = command.from.seed;
  options.samples = command.from.samples;
  options.seed = command.from.seed;
  options.batch_size = command.batch_size;
  options.threads = command.threads;
  options.max_iterations = command.max_iterations;
  if (!command.metric.empty()) options.metric = Metric::OfName(command.metric);
  options.with_times = command.with_times;
  options.max_drop = command.max_drop;
  options.budget = command.budget;
  options.state_folder = state;
  options.resume = command.from.resume;
  ProgressLine progress = ProgressLine::OnStandardError();
  options.progress = [&progress](const char* what, int64_t done, int64_t of) {
    if (!progress.IsDue()) return;
    progress.Show(of > 0     ? absl::StrCat(what, " ", done, "/", of)
                  : done > 0 ? absl::StrCat(what, " ", done)
                             : std::string(what));
  };
  DeferInterruption();
  absl::StatusOr<QuantizedNetwork> quantized = Quantize(
      program, parameters, {samples.get(), command.from.data_name, measured.get()}, options);
  progress.Clear();
  if (IsInterrupted() && absl::IsCancelled(quantized.status())) {
    RETURN_IF_ERROR(WriteReport(InterruptedText(state), /*output_is_taken=*/true));
    return kAnswerIsNo;
  }
  if (!quantized.ok()) {
    // What was asked for cannot be done, so that there is nothing to go on with, but for what
    // another run has saved.
    if (!has_state && !absl::IsUnavailable(quantized.status())) RemoveQuantizeState(state);
    return quantized.status();
  }
  QuantizedNetwork& network = *quantized;
  Describe(command, &network);
  RETURN_IF_ERROR(WriteQuantizedNetwork(network, command.from.output));
  RemoveQuantizeState(options.state_folder);
  if (!command.json) WriteNotes(command.from.program, network.notes);
  RETURN_IF_ERROR(WriteReport(
      command.json ? QuantizedJson(command, network)
                   : absl::StrCat(AccountTable(MakeAccount(network.simulated.plan)),
                                  IntegersText(network), ComparisonText(network),
                                  FoundText(command, network), MetricText(command, network),
                                  CostsText(network), "wrote ", command.from.output, "\n"),
      /*output_is_taken=*/false));
  return !network.found || network.found->holds ? kDone : kAnswerIsNo;
}

}  // namespace fixpoint
