#include "transpiler/quantize/quantize.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/text_message.h"
#include "proto/program/feeds_and_fetches.h"
#include "runtime/calibration/calibration_run.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/data/batcher.h"
#include "runtime/error_place.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/fed_batches.h"
#include "transpiler/plan/target.h"
#include "transpiler/quantize/measurements.h"
#include "transpiler/quantize/network_report.h"
#include "transpiler/quantize/parameter_faults.h"
#include "transpiler/quantize/run_settings.h"
#include "transpiler/weights/clip_weights.h"
#include "transpiler/weights/correct_biases.h"
#include "transpiler/weights/kept_codes.h"
#include "transpiler/weights/method_run.h"
#include "transpiler/weights/round_weights.h"
#include "transpiler/weights/smooth_activations.h"

namespace fixpoint {
namespace {

BackendOptions BackendOptionsOf(const QuantizeOptions& options) {
  BackendOptions backend;
  backend.seed = options.seed;
  backend.threads = options.threads;
  backend.max_iterations = options.max_iterations;
  return backend;
}

// The files of a state folder.
constexpr char kSavedProfile[] = "profile.textproto";
constexpr char kSavedMeasurements[] = "measurements.textproto";
// What a crash may leave beside them (proto/file/atomic_file.h).
constexpr char kTemporaryFilePrefix[] = ".fixpoint-";
// Samples, after which the profile so far is saved.
constexpr int64_t kSaveEvery = 1000;

// Makes one network, step by step.
class Quantization {
 public:
  Quantization(const QuantizeData& data, const QuantizeOptions& options)
      : data_(data), options_(options), measured_(data.measured ? data.measured : data.samples) {}

  absl::StatusOr<QuantizedNetwork> Run(const Program& program, const Scope& parameters) {
    std::error_code error;
    if (saves_state()) {
      std::filesystem::create_directories(options_.state_folder, error);
      if (error) return CannotBeWritten(options_.state_folder, error);
    }
    const absl::Status status = RunAll(program, parameters);
    if (status.ok()) return std::move(network_);
    // One that is not empty stays.
    if (saves_state()) std::filesystem::remove(options_.state_folder, error);
    return status;
  }

 private:
  absl::Status RunAll(const Program& program, const Scope& parameters) {
    RETURN_IF_ERROR(CheckVariances(program, parameters));
    network_.config = options_.config;
    if (!network_.config.has_target()) network_.config.set_target(kDeployedTarget);
    Tell("prepare");
    PrepareOptions prepare = options_.prepare;
    prepare.quantizers = options_.quantizers;
    prepare.add_biases |= options_.weights.correct_biases;
    ASSIGN_OR_RETURN(network_.prepared, Prepare(program, parameters, prepare));
    Note(network_.prepared.notes);
    RETURN_IF_ERROR(FindEnds());
    RETURN_IF_ERROR(BeginMeasurements(program, parameters));
    RETURN_IF_ERROR(Smooth());
    RETURN_IF_ERROR(Calibrate());
    if (searches()) RETURN_IF_ERROR(Search());
    Tell("quantize");
    ASSIGN_OR_RETURN(network_.simulated_parameters, CopyOf(network_.prepared.scope));
    ASSIGN_OR_RETURN(network_.simulated,
                     Simulate(network_.prepared.program, network_.profile, HowToTranspile(),
                              &network_.simulated_parameters));
    if (network_.simulated.plan.sites().empty()) {
      return In(network_.prepared.program.name(),
                absl::FailedPreconditionError(
                    "nothing is quantized, by this target and configuration and within the bound"));
    }
    Note(network_.simulated.notes);
    Note(NotesOnDeadChannels(network_.simulated.plan, network_.prepared.scope));
    ASSIGN_OR_RETURN(const std::vector<std::string> changes,
                     ChangeWeights(network_.simulated, &network_.simulated_parameters));
    Note(changes);
    RETURN_IF_ERROR(FreezeAndCompare());
    RETURN_IF_ERROR(Measure());
    return Report();
  }

  void Tell(const char* what, int64_t done = 0, int64_t of = 0) const {
    if (options_.progress) options_.progress(what, done, of);
  }

  void Note(const std::vector<std::string>& notes) {
    network_.notes.insert(network_.notes.end(), notes.begin(), notes.end());
  }

  // Preparing may have given a value another name, so that the ends are those of the prepared
  // program.
  absl::Status FindEnds() {
    const Program& program = network_.prepared.program;
    const absl::StatusOr<NetworkVariables> variables =
        FindNetworkVariables(program, options_.named, options_.inputs);
    if (!variables.ok()) return In(program.name(), variables.status());
    variables_ = *variables;
    network_.outputs =
        options_.outputs.empty() ? NamesOf(FetchedVariables(program)) : options_.outputs;
    if (network_.outputs.empty()) {
      return In(program.name(),
                absl::InvalidArgumentError("fetches nothing; want the names of outputs"));
    }
    for (const std::string& output : network_.outputs) {
      const Variable* const variable = program.Find(program.block(0), output);
      if (variable != nullptr && !variable->values().empty()) continue;
      return In(program.name(), absl::InvalidArgumentError(absl::StrCat(
                                    "no op computes the output \"", output,
                                    "\" once the program is prepared; want what it is a copy of")));
    }
    if (!options_.metric) return absl::OkStatus();
    const absl::Status there = options_.metric->CheckIsThere(program, variables_, *measured_);
    return there.ok() ? there : In(program.name(), there);
  }

  BatchRunOptions HowToMeasure() const {
    BatchRunOptions run;
    run.variables = variables_;
    run.backend_options = BackendOptionsOf(options_);
    run.batches.batch_size = options_.batch_size;
    // Other samples than those that calibrating looks at.
    run.batches.check_finite = data_.measured != nullptr;
    return run;
  }

  // Whether the weights of a network with this plan become others.
  bool ChangesWeights(const QuantPlan& plan) const {
    return options_.weights.rounding || options_.weights.correct_biases ||
           std::any_of(plan.sites().begin(), plan.sites().end(), HasRangeRule);
  }

  // Calls `method` with the samples that methods for weights see.
  absl::Status WithMethodRun(const char* what,
                             const std::function<absl::Status(const MethodRun&)>& method) {
    BatchOptions options;
    options.batch_size = options_.batch_size;
    options.seed = options_.seed;
    ASSIGN_OR_RETURN(FedBatches batches, FedBatches::Create(network_.prepared.program,
                                                            data_.samples, variables_, options));
    MethodRun run;
    run.batches = &batches;
    run.samples = options_.weights.samples;
    run.threads = options_.threads;
    run.quantizers = options_.quantizers;
    run.progress = [this, what](int64_t done, int64_t of) { Tell(what, done, of); };
    return method(run);
  }

  absl::Status Smooth() {
    if (!options_.weights.smooth) return absl::OkStatus();
    return WithMethodRun("smooth", [this](const MethodRun& run) {
      return SmoothActivations(network_.prepared.program, &network_.prepared.scope,
                               *options_.weights.smooth, run)
          .status();
    });
  }

  TranspileOptions HowToTranspile() const {
    TranspileOptions options;
    options.config = network_.config;
    options.names = options_.names;
    options.quantizers = options_.quantizers;
    options.checks = options_.checks;
    return options;
  }

  // Of a simulated network; the float one stays as it is. What there is to note of it.
  absl::StatusOr<std::vector<std::string>> ChangeWeights(const SimulatedModel& simulated,
                                                         Scope* parameters) {
    const NetworkPair networks = {network_.prepared.program, &network_.prepared.scope,
                                  simulated.program, parameters};
    const QuantizerTable built_in;
    const QuantizerTable& quantizers =
        options_.quantizers == nullptr ? built_in : *options_.quantizers;
    ASSIGN_OR_RETURN(const std::vector<ClippedWeight> clipped,
                     ClipWeights(simulated.program, simulated.plan, quantizers, parameters));
    if (options_.weights.rounding) {
      RoundOptions rounding = *options_.weights.rounding;
      if (saves_state()) rounding.kept = options_.state_folder;
      RETURN_IF_ERROR(WithMethodRun("round weights", [&](const MethodRun& run) {
        return RoundWeights(networks, rounding, run).status();
      }));
    }
    if (options_.weights.correct_biases) {
      RETURN_IF_ERROR(WithMethodRun("correct biases", [&](const MethodRun& run) {
        return CorrectBiases(networks, run).status();
      }));
    }
    return NotesOnClipping(clipped);
  }

  absl::Status Calibrate() {
    const Program& program = network_.prepared.program;
    const QuantizerTable built_in;
    ASSIGN_OR_RETURN(const Target target,
                     LoadTarget(network_.config.target(),
                                options_.quantizers == nullptr ? built_in : *options_.quantizers));
    const bool takes_outputs = options_.config.observe_outputs() || AlwaysQuantizesOutputs(target);
    CalibrationRunOptions options;
    options.calibration.outputs = network_.outputs;
    options.calibration.observed = FindObservedVariables(
        program, takes_outputs ? ObservedOutputs::kAll : ObservedOutputs::kNone);
    options.calibration.threads = options_.threads;
    options.calibration.max_iterations = options_.max_iterations;
    options.variables = variables_;
    options.data_name = data_.name;
    options.samples = options_.samples;
    options.seed = options_.seed;
    options.batch_size = options_.batch_size;
    options.saved = StateFile(kSavedProfile);
    options.save_every = saves_state() ? kSaveEvery : 0;
    ASSIGN_OR_RETURN(
        const std::unique_ptr<CalibrationRun> run,
        CalibrationRun::Create(program, &network_.prepared.scope, data_.samples, options));
    if (options_.resume) RETURN_IF_ERROR(run->Resume());
    const absl::Status status = run->Run([&] { Tell("calibrate", run->done(), run->samples()); });
    if (run->done() > 0 && (status.ok() || absl::IsCancelled(status))) {
      network_.profile = run->Profile();
      if (saves_state()) {
        RETURN_IF_ERROR(WriteFileAtomically(options.saved, PrintTextMessage(network_.profile)));
      }
    }
    RETURN_IF_ERROR(status);
    Note(run->Notes());
    return absl::OkStatus();
  }

  bool searches() const { return options_.max_drop || options_.budget; }
  // Without a search, learned rounding or many samples, a run is over before anything is worth
  // saving.
  bool saves_state() const {
    return !options_.state_folder.empty() &&
           (searches() || options_.weights.rounding || options_.samples > kSaveEvery);
  }
  // "" if nothing is saved.
  std::string StateFile(const char* name) const {
    return saves_state() ? absl::StrCat(options_.state_folder, "/", name) : "";
  }

  // What is saved is refused at once if it is of another run.
  absl::Status BeginMeasurements(const Program& program, const Scope& parameters) {
    std::vector<RunSetting> settings;
    if (saves_state()) {
      ASSIGN_OR_RETURN(settings, SettingsOf(program, parameters, network_.config, data_, options_));
    }
    measurements_.emplace(settings, StateFile(kSavedMeasurements));
    if (options_.resume) RETURN_IF_ERROR(measurements_->Load());
    return measurements_->Save();
  }

  absl::Status Search() {
    measurements_->CallAfterEach([&] { Tell("search", measurements_->count(), 0); });
    SearchedNetwork searched;
    searched.program = &network_.prepared.program;
    searched.parameters = &network_.prepared.scope;
    searched.profile = &network_.profile;
    searched.transpile = HowToTranspile();
    searched.outputs = network_.outputs;
    searched.samples = data_.samples;
    searched.measured = measured_;
    searched.run = HowToMeasure();
    ASSIGN_OR_RETURN(const SimulatedModel configured,
                     Simulate(network_.prepared.program, network_.profile, searched.transpile,
                              &network_.prepared.scope));
    if (ChangesWeights(configured.plan)) {
      searched.change_weights = [this](const SimulatedModel& simulated, Scope* parameters) {
        return ChangeWeights(simulated, parameters).status();
      };
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<PlanSearch> search,
                     PlanSearch::Create(searched, &*measurements_));
    if (options_.budget) {
      ASSIGN_OR_RETURN(network_.found, search->ForBudget(*options_.budget));
    } else {
      ASSIGN_OR_RETURN(network_.found, search->ForDrop(*options_.metric, *options_.max_drop));
      network_.measured = network_.found->measured;
    }
    network_.config = network_.found->config;
    return absl::OkStatus();
  }

  // Compares on the first samples of those that were calibrated with.
  absl::Status FreezeAndCompare() {
    BatchOptions batches;
    batches.batch_size = std::min(options_.batch_size, options_.samples);
    batches.seed = options_.seed;
    ASSIGN_OR_RETURN(FedBatches source, FedBatches::Create(network_.prepared.program, data_.samples,
                                                           variables_, batches));
    ASSIGN_OR_RETURN(const Batch batch, source.batcher().Next());
    network_.compared_samples = static_cast<int64_t>(batch.samples.size());
    const std::vector<Feed> feeds = source.FeedsOf(batch);
    const BackendOptions backend = BackendOptionsOf(options_);
    const ComparedForm floats = {&network_.prepared.program, &network_.prepared.scope};
    ComparedForms forms;
    forms.simulated = {&network_.simulated.program, &network_.simulated_parameters};
    ASSIGN_OR_RETURN(network_.noise, CompareWithFloat(forms.simulated, floats, feeds, backend));
    RETURN_IF_ERROR(FreezeAndLower());
    Tell("compare");
    forms.portable = {&network_.portable.program, &network_.portable.scope};
    forms.lowered = {&network_.lowered.program, &network_.lowered.scope};
    const auto& sites = network_.simulated.plan.sites();
    forms.has_ties = std::any_of(sites.begin(), sites.end(), [](const QuantPlan::Site& site) {
      return site.spec().rounding() == QuantSpec::HALF_AWAY_FROM_ZERO;
    });
    ASSIGN_OR_RETURN(network_.agreement, CheckFormsAgree(forms, feeds, backend));
    return absl::OkStatus();
  }

  absl::Status FreezeAndLower() {
    FreezeOptions freeze;
    freeze.fetches = network_.outputs;
    freeze.quantizers = options_.quantizers;
    ASSIGN_OR_RETURN(network_.portable,
                     Freeze(network_.simulated.program, network_.simulated_parameters, freeze));
    Note(network_.portable.notes);
    ASSIGN_OR_RETURN(network_.lowered, Lower(network_.portable.program, network_.portable.scope));
    Note(network_.lowered.notes);
    return absl::OkStatus();
  }

  absl::Status Measure() {
    // A search for a drop has measured its result.
    if (!options_.metric || network_.measured) return absl::OkStatus();
    MeasuredDrop& measured = network_.measured.emplace();
    measured.samples = measured_->size();
    const BatchRunOptions options = HowToMeasure();
    Tell("measure", 0, 2);
    ASSIGN_OR_RETURN(measured.before,
                     options_.metric->Measure(network_.prepared.program, &network_.prepared.scope,
                                              *measured_, options));
    Tell("measure", 1, 2);
    ASSIGN_OR_RETURN(measured.after,
                     options_.metric->Measure(network_.simulated.program,
                                              &network_.simulated_parameters, *measured_, options));
    measured.drop = options_.metric->Drop(measured.before.value, measured.after.value);
    return absl::OkStatus();
  }

  absl::Status Report() {
    const Program& floats = network_.prepared.program;
    ASSIGN_OR_RETURN(const executor::InferenceRequest request,
                     RequestForOne(floats, variables_, network_.outputs, *data_.samples));
    ASSIGN_OR_RETURN(network_.float_cost,
                     CostOfNetwork(floats, network_.prepared.scope, request, options_.with_times));
    ASSIGN_OR_RETURN(const NetworkCost portable,
                     CostOfNetwork(network_.portable.program, network_.portable.scope, request,
                                   options_.with_times));
    ASSIGN_OR_RETURN(network_.lowered_cost,
                     CostOfNetwork(network_.lowered.program, network_.lowered.scope, request,
                                   options_.with_times));
    ASSIGN_OR_RETURN(network_.report,
                     ReportOf({floats, network_.prepared.scope, network_.simulated.plan,
                               network_.profile, network_.lowered.ops, network_.noise,
                               network_.float_cost, portable, network_.lowered_cost}));
    if (network_.found) AddSensitivity(network_.found->noise, &network_.report);
    NoteWhatWasMeasured();
    for (const std::string& note : network_.notes) network_.report.add_notes(note);
    if (network_.measured) {
      AddMetric(*options_.metric, *network_.measured, options_.max_drop, &network_.report);
    }
    return absl::OkStatus();
  }

  void NoteWhatWasMeasured() {
    if (!network_.measured) return;
    if (data_.measured == nullptr) {
      Note({"the metric is of the samples that ranges come from; others tell more (--eval_data)"});
    }
    if (!options_.max_drop) return;
    const std::optional<double> error = network_.measured->before.standard_error;
    if (!error || *options_.max_drop >= *error) return;
    Note({absl::StrCat("the bound on the drop of ", options_.metric->name(), ", ",
                       *options_.max_drop, ", is less than one standard error of it on ",
                       network_.measured->samples, " samples, ", absl::StrFormat("%.4f", *error),
                       ": on other samples it may not hold; measure on more")});
  }

  const QuantizeData& data_;
  const QuantizeOptions& options_;
  const SampleSet* const measured_;
  NetworkVariables variables_;
  std::optional<Measurements> measurements_;
  QuantizedNetwork network_;
};

}  // namespace

absl::StatusOr<QuantizedNetwork> Quantize(const Program& program, const Scope& parameters,
                                          const QuantizeData& data,
                                          const QuantizeOptions& options) {
  return Quantization(data, options).Run(program, parameters);
}

void RemoveQuantizeState(const std::string& state_folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator entry(state_folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_ours = name == kSavedProfile || name == kSavedMeasurements ||
                         absl::StartsWith(name, kKeptCodesPrefix) ||
                         absl::StartsWith(name, kTemporaryFilePrefix);
    std::error_code ignored;
    if (is_ours) fs::remove(entry->path(), ignored);
  }
  fs::remove(state_folder, error);
}

}  // namespace fixpoint
