#include "tools/training_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/program/program.h"
#include "runtime/backward_precision.h"
#include "runtime/data/sample_set.h"
#include "runtime/npz.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "runtime/staged_directory.h"
#include "runtime/tensor.h"
#include "runtime/training/batch_norm_estimation.h"
#include "runtime/training/batch_runner.h"
#include "runtime/training/checkpoint.h"
#include "runtime/training/evaluator.h"
#include "runtime/training/fed_batches.h"
#include "runtime/training/rate_schedule.h"
#include "runtime/training/trainer.h"
#include "tools/initial_values.h"
#include "tools/interruption.h"
#include "tools/named_program.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"
#include "tools/staged_report.h"
#include "tools/training_log.h"
#include "tools/training_report.h"
#include "transpiler/freeze/estimation_program.h"
#include "transpiler/freeze/test_program.h"

namespace fixpoint {
namespace {

absl::StatusOr<Program> EvaluationProgram(const TrainingCommand& command, const Program& training) {
  if (command.eval_program.empty()) return MakeTestProgram(training, command.quantizers);
  ASSIGN_OR_RETURN(NamedProgram named, LoadNamedProgram(command.eval_program));
  return std::move(named.program);
}

std::vector<std::string> FilesReadBy(const TrainingCommand& command) {
  std::vector<std::string> files = {command.program, command.startup, command.params,
                                    command.eval_program};
  for (const std::string& file : FilesOf(command.training_data)) files.push_back(file);
  if (command.test_data) {
    for (const std::string& file : FilesOf(*command.test_data)) files.push_back(file);
  }
  return files;
}

// One run of the tool.
class TrainingRun {
 public:
  explicit TrainingRun(const TrainingCommand& command)
      : command_(command), outputs_(FilesReadBy(command)) {}

  absl::StatusOr<ExitCode> Run() {
    RETURN_IF_ERROR(ClaimOutputs());
    RETURN_IF_ERROR(LoadInputs());
    RETURN_IF_ERROR(Begin());
    RETURN_IF_ERROR(TrainAll());
    RETURN_IF_ERROR(ReestimateBatchNorm());
    RETURN_IF_ERROR(WriteOutputs());
    return kDone;
  }

 private:
  // The file that the evaluated program is made from.
  const std::string& EvaluatedFile() const {
    return command_.eval_program.empty() ? command_.program : command_.eval_program;
  }

  TrainedFrom Trained() const { return {training_, startup_, command_.program, command_.startup}; }

  // Reports what cannot be written before the work, not after it.
  absl::Status ClaimOutputs() {
    RETURN_IF_ERROR(CheckStandardOutput());
    if (!command_.save.empty()) {
      RETURN_IF_ERROR(outputs_.Claim(command_.save));
      RETURN_IF_ERROR(StagedDirectory::Create(command_.save).status());
    }
    if (!command_.dump_output.empty()) {
      RETURN_IF_ERROR(outputs_.Claim(command_.dump_output));
      RETURN_IF_ERROR(AtomicFile::Create(command_.dump_output).status());
    }
    if (!command_.metrics.empty()) RETURN_IF_ERROR(outputs_.Claim(command_.metrics));
    if (!command_.report.empty()) {
      RETURN_IF_ERROR(outputs_.Claim(command_.report));
      RETURN_IF_ERROR(AtomicFile::Create(command_.report).status());
    }
    if (!command_.checkpoint_dir.empty()) RETURN_IF_ERROR(outputs_.Claim(command_.checkpoint_dir));
    return absl::OkStatus();
  }

  absl::Status LoadInputs() {
    ASSIGN_OR_RETURN(NamedProgram training, LoadNamedProgram(command_.program));
    training_ = std::move(training.program);
    ASSIGN_OR_RETURN(NamedProgram startup, LoadNamedProgram(command_.startup));
    startup_ = std::move(startup.program);
    ASSIGN_OR_RETURN(evaluation_, EvaluationProgram(command_, training_));
    if (command_.reestimated_batches > 0) {
      ASSIGN_OR_RETURN(estimation_, MakeEstimationProgram(training_));
      RETURN_IF_ERROR(InFile(command_.program, CheckHasBatchNorm(estimation_)));
    }
    options_.backend = command_.backend;
    options_.backend_options = command_.backend_options;
    options_.batches.batch_size = command_.batch_size;
    options_.batches.seed = command_.backend_options.seed;
    options_.batches.augmentation = command_.augmentation;
    ASSIGN_OR_RETURN(options_.variables,
                     FindVariablesForFlags(training_, command_.program, command_.variables,
                                           InputsOf(command_.training_data)));
    // The evaluated program has to have the same variables. It may be fed other data.
    const DataSource& tested = command_.test_data ? *command_.test_data : command_.training_data;
    const absl::StatusOr<NetworkVariables> variables =
        FindNetworkVariables(evaluation_, options_.variables, InputsOf(tested));
    if (!variables.ok()) return InFile(EvaluatedFile(), variables.status());
    test_options_ = options_;
    test_options_.variables = *variables;

    ASSIGN_OR_RETURN(training_set_, OpenData(command_.training_data, DataPart::kTraining));
    if (command_.test_data) {
      ASSIGN_OR_RETURN(test_set_, OpenData(*command_.test_data, DataPart::kTest));
    }
    if (command_.keep_best) {
      const Metric& metric = *command_.keep_best;
      const absl::Status is_there =
          metric.CheckIsThere(evaluation_, test_options_.variables, *test_set_);
      if (!is_there.ok()) return InFile(EvaluatedFile(), is_there);
      std::vector<std::string>& measured = test_options_.variables.metrics;
      const bool is_measured =
          !metric.is_variable() || std::count(measured.begin(), measured.end(), metric.name()) > 0;
      if (!is_measured) measured.push_back(metric.name());
    }
    // Checked before a large network is initialised.
    const absl::StatusOr<FedBatches> batches =
        FedBatches::Create(training_, training_set_.get(), options_.variables, options_.batches);
    if (!batches.ok()) return InFile(command_.program, batches.status());
    RETURN_IF_ERROR(CountSteps(batches->batcher().BatchesPerEpoch()));
    return FindRate();
  }

  absl::Status Begin() {
    RETURN_IF_ERROR(InitializeScope());
    if (!command_.save.empty()) {
      RETURN_IF_ERROR(CheckCanBeSaved(Trained(), scope_, command_.save));
    }
    RETURN_IF_ERROR(CheckDumped());
    RETURN_IF_ERROR(DescribeRun());
    RETURN_IF_ERROR(OpenCheckpoints());

    absl::StatusOr<Trainer> trainer =
        Trainer::Create(training_, &scope_, training_set_.get(), options_);
    if (!trainer.ok()) return InFile(command_.program, trainer.status());
    trainer_.emplace(*std::move(trainer));
    trainer_->EndAt(steps_);
    RETURN_IF_ERROR(trainer_->GoTo(state_.step()));
    if (rate_) trainer_->FeedRate(*rate_);
    if (test_set_ != nullptr) {
      absl::StatusOr<Evaluator> evaluator =
          Evaluator::Create(evaluation_, &scope_, test_set_.get(), test_options_);
      if (!evaluator.ok()) return InFile(EvaluatedFile(), evaluator.status());
      evaluator_.emplace(*std::move(evaluator));
    }

    if (!command_.dump.empty() && trainer_->step() >= steps_) {
      return UsageError("--dump: all steps are done, and none is left to dump; ask for more");
    }
    if (!command_.report.empty()) report_.emplace(training_);
    begun_with_ = trainer_->step();
    return log_.Begin(options_, begun_with_, steps_, command_.metrics, state_.metrics_bytes());
  }

  absl::Status InitializeScope() {
    RETURN_IF_ERROR(RunStartup(Trained(), &scope_, options_));
    if (command_.params.empty()) return absl::OkStatus();
    const std::optional<float> initial_rate = FixedRate();
    ASSIGN_OR_RETURN(std::string notes, TakeParameters(Trained(), command_.params, &scope_));
    // That of the last step of a schedule is saved with the parameters, and is almost 0.
    const std::optional<float> rate = FixedRate();
    if (rate != initial_rate) {
      absl::StrAppend(&notes, "the learning rate is ", rate.value_or(0), ", as ", command_.params,
                      " has it, and not ", initial_rate.value_or(0),
                      ", as the startup program does; --learning_rate=RATE sets it\n");
    }
    return WriteReport(notes, /*output_is_taken=*/true);
  }

  // The learning rate of all steps; nothing where a schedule gives it, or the program computes it.
  std::optional<float> FixedRate() const {
    if (command_.learning_rate) return std::nullopt;
    const absl::StatusOr<std::string> variable = FindFedRate(training_);
    const Scope::Value* const value = variable.ok() ? scope_.FindOrNull(*variable) : nullptr;
    const Tensor* const rate = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    if (rate == nullptr || rate->dtype() != VarType::FP32 || rate->size() != 1) return std::nullopt;
    return rate->data<float>()[0];
  }

  // A usage error if a variable to dump will have no value.
  absl::Status CheckDumped() const {
    std::vector<std::string> fed = {options_.variables.images, options_.variables.labels};
    for (const SampleField& field : training_set_->fields()) fed.push_back(field.name);
    for (const std::string& name : command_.dump) {
      ASSIGN_OR_RETURN(const Variable* variable,
                       FindForFlag("dump", name, training_, command_.program));
      const std::vector<const Argument*> arguments = variable->arguments();
      const bool is_written = std::any_of(arguments.begin(), arguments.end(),
                                          [](const Argument* a) { return a->is_output(); });
      const bool is_fed = std::find(fed.begin(), fed.end(), name) != fed.end();
      if (is_written || is_fed || scope_.FindOrNull(name) != nullptr) continue;
      return UsageError(absl::StrCat("--dump: \"", name, "\" is neither fed to ", command_.program,
                                     " nor written by an op"));
    }
    return absl::OkStatus();
  }

  absl::Status DescribeRun() {
    state_.set_program(command_.program);
    state_.set_program_checksum(ChecksumOf(training_));
    state_.set_data(command_.data);
    ASSIGN_OR_RETURN(const uint64_t data_checksum, training_set_->Checksum());
    state_.set_data_checksum(data_checksum);
    state_.set_seed(command_.backend_options.seed);
    state_.set_batch_size(command_.batch_size);
    state_.set_augment_padding(command_.augmentation.padding);
    state_.set_augment_flip(command_.augmentation.flip);
    if (command_.learning_rate) {
      state_.set_learning_rate(
          command_.learning_rate->depends_on_length()
              ? absl::StrCat(command_.learning_rate_text, " over ", steps_, " steps")
              : command_.learning_rate_text);
    }
    if (command_.keep_best) {
      state_.set_keep_best(command_.keep_best_text);
      ASSIGN_OR_RETURN(const uint64_t eval_checksum, test_set_->Checksum());
      state_.set_eval_data_checksum(eval_checksum);
      state_.set_eval_program_checksum(ChecksumOf(evaluation_));
      state_.set_save(command_.save);
    }
    state_.set_backend(std::string(BackendName(command_.backend)));
    state_.set_threads(command_.backend_options.threads);
    state_.set_backward(std::string(BackwardPrecisionName(command_.backend_options.backward)));
    return absl::OkStatus();
  }

  absl::Status CountSteps(int64_t per_epoch) {
    constexpr int64_t kMostSteps = Trainer::kMostSteps;
    const bool is_too_many =
        command_.steps > 0 ? command_.steps > kMostSteps : command_.epochs > kMostSteps / per_epoch;
    if (is_too_many) {
      return UsageError(absl::StrCat("a run has at most ", kMostSteps, " steps; ask for fewer"));
    }
    steps_ = command_.steps > 0 ? command_.steps : command_.epochs * per_epoch;
    return absl::OkStatus();
  }

  absl::Status FindRate() {
    if (!command_.learning_rate) return absl::OkStatus();
    const absl::StatusOr<std::string> variable = FindFedRate(training_);
    if (!variable.ok()) {
      return UsageError(
          absl::StrCat("--learning_rate: ", command_.program, ": ", variable.status().message()));
    }
    rate_ = FedRate{*variable, *command_.learning_rate, steps_};
    return absl::OkStatus();
  }

  absl::Status OpenCheckpoints() {
    if (command_.checkpoint_dir.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(checkpoints_,
                     CheckpointFolder::Open(command_.checkpoint_dir, command_.keep_checkpoints));
    ASSIGN_OR_RETURN(const std::vector<int64_t> steps, checkpoints_->Steps());
    if (steps.empty()) return absl::OkStatus();
    if (!command_.resume) {
      return UsageError(absl::StrCat("--checkpoint_dir=", command_.checkpoint_dir,
                                     " has checkpoints of a run; continue it (--resume) or name "
                                     "another folder"));
    }
    ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(checkpoints_->PathOf(steps.back())));
    RETURN_IF_ERROR(CheckIsOfRun(checkpoint, state_, scope_));
    state_.set_step(checkpoint.state.step());
    state_.set_metrics_bytes(checkpoint.state.metrics_bytes());
    RETURN_IF_ERROR(ContinueWithBest(checkpoint));
    scope_ = std::move(checkpoint.scope);
    return Tell(absl::StrCat("resuming from ", checkpoint.path, "\n"));
  }

  // The parameters of the best evaluation so far are in the folder of --save.
  absl::Status ContinueWithBest(const Checkpoint& checkpoint) {
    state_.set_evaluations_since_best(checkpoint.state.evaluations_since_best());
    if (!checkpoint.state.has_best_step()) return absl::OkStatus();
    if (!std::filesystem::is_directory(command_.save)) {
      return UsageError(absl::StrCat("--save=", command_.save, ": ", checkpoint.path,
                                     " says that the best parameters so far, after step ",
                                     checkpoint.state.best_step(),
                                     ", were saved; want the folder that has them"));
    }
    state_.set_best_step(checkpoint.state.best_step());
    state_.set_best_value(checkpoint.state.best_value());
    return absl::OkStatus();
  }

  absl::Status TrainAll() {
    if (trainer_->step() >= steps_) {
      const char* advice = " steps are done; --steps or --epochs asks for more\n";
      RETURN_IF_ERROR(Tell(absl::StrCat("all ", steps_, advice)));
    }
    DeferInterruption();
    bool ends = trainer_->step() >= steps_ || HasStoppedImproving();
    while (!ends) {
      const bool is_last = trainer_->step() + 1 == steps_;
      absl::StatusOr<BatchResult> result =
          trainer_->Step(is_last ? command_.dump : std::vector<std::string>());
      if (!result.ok()) {
        const absl::Status error = InFile(command_.program, result.status());
        return trainer_->step() == begun_with_ ? WithMissingValues(error, Trained(), scope_)
                                               : error;
      }
      RETURN_IF_ERROR(log_.TellOfStep(trainer_->step(), *result, RateOfLastStep()));
      if (report_) report_->AddStep(trainer_->step(), *result, RateOfLastStep(), scope_);
      if (evaluator_ && IsDue(command_.eval_every, is_last)) RETURN_IF_ERROR(EvaluateNow());
      ends = is_last || HasStoppedImproving() || IsInterrupted();
      if (checkpoints_ && IsDue(command_.checkpoint_every, ends)) {
        RETURN_IF_ERROR(WriteCheckpoint());
      }
      for (size_t i = 0; i < result->fetched.size(); ++i) {
        dumped_.Set(command_.dump[i], std::move(result->fetched[i]));
      }
    }
    if (trainer_->step() == steps_) return absl::OkStatus();
    if (!HasStoppedImproving()) {
      return Tell(absl::StrCat("interrupted after step ", trainer_->step(), "\n"));
    }
    return Tell(absl::StrCat(
        "ended after step ", trainer_->step(), ": ", state_.evaluations_since_best(),
        state_.has_best_step()
            ? absl::StrCat(" evaluations were not better than that of step ", state_.best_step())
            : std::string(" evaluations gave no finite number"),
        "\n"));
  }

  // After the last step and its checkpoint, from which a run goes on as if there were none of this.
  absl::Status ReestimateBatchNorm() {
    if (command_.reestimated_batches == 0 || trainer_->step() < steps_) return absl::OkStatus();
    const absl::StatusOr<int> norms = EstimateBatchNorm(estimation_, command_.reestimated_batches,
                                                        training_set_.get(), options_, &scope_);
    if (!norms.ok()) return InFile(command_.program, norms.status());
    RETURN_IF_ERROR(
        Tell(absl::StrCat("statistics of ", *norms, *norms == 1 ? " batch norm" : " batch norms",
                          " estimated from ", command_.reestimated_batches,
                          command_.reestimated_batches == 1 ? " batch\n" : " batches\n")));
    return evaluator_ ? EvaluateNow() : absl::OkStatus();
  }

  bool IsDue(int64_t every, bool is_last) const {
    return is_last || (every > 0 && trainer_->step() % every == 0);
  }

  absl::Status Tell(const std::string& text) {
    return log_.Tell(text, outputs_.to_standard_output());
  }

  std::optional<double> RateOfLastStep() const {
    if (!rate_) return std::nullopt;
    return rate_->schedule.At(trainer_->step() - 1, rate_->steps);
  }

  absl::Status EvaluateNow() {
    const absl::StatusOr<Evaluation> evaluation = evaluator_->Run();
    if (!evaluation.ok()) return InFile(EvaluatedFile(), evaluation.status());
    if (report_) report_->AddEvaluation(trainer_->step(), *evaluation);
    RETURN_IF_ERROR(log_.TellOfEvaluation(trainer_->step(), trainer_->epoch(), *evaluation,
                                          outputs_.to_standard_output()));
    return command_.keep_best ? KeepIfBest(*evaluation) : absl::OkStatus();
  }

  absl::Status KeepIfBest(const Evaluation& evaluation) {
    const Metric& metric = *command_.keep_best;
    const std::optional<double> value = metric.In(evaluation);
    const bool is_best = value.has_value() &&
                         (!state_.has_best_value() || metric.IsBetter(*value, state_.best_value()));
    if (!is_best) {
      state_.set_evaluations_since_best(state_.evaluations_since_best() + 1);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(StagedDirectory folder,
                     StageSeparateParameters(training_.Proto(), scope_, command_.save));
    RETURN_IF_ERROR(folder.Commit());
    state_.set_best_step(trainer_->step());
    state_.set_best_value(*value);
    state_.set_evaluations_since_best(0);
    return absl::OkStatus();
  }

  bool HasStoppedImproving() const {
    return command_.stop_after > 0 && state_.evaluations_since_best() >= command_.stop_after;
  }

  absl::Status WriteCheckpoint() {
    state_.set_step(trainer_->step());
    ASSIGN_OR_RETURN(const int64_t metrics_bytes, log_.Sync());
    state_.set_metrics_bytes(metrics_bytes);
    return checkpoints_->Write(state_, scope_);
  }

  absl::Status WriteOutputs() {
    std::string text;
    if (state_.has_best_step()) {
      absl::StrAppend(&text, "wrote ", command_.save, ": the parameters after step ",
                      state_.best_step(), "\n");
    } else if (!command_.save.empty()) {
      ASSIGN_OR_RETURN(StagedDirectory folder,
                       StageSeparateParameters(training_.Proto(), scope_, command_.save));
      outputs_.Hold(std::move(folder));
      absl::StrAppend(&text, "wrote ", command_.save, "\n");
    }
    // An interrupted run has no last step to dump.
    if (!command_.dump.empty() && trainer_->step() == steps_) {
      ASSIGN_OR_RETURN(AtomicFile file, StageNpz(dumped_, command_.dump_output));
      outputs_.Hold(std::move(file));
      absl::StrAppend(&text, "wrote ", command_.dump_output, "\n");
    }
    if (report_) {
      RETURN_IF_ERROR(StageReport(MakeReport(), command_.report, &outputs_));
      absl::StrAppend(&text, "wrote ", command_.report, "\n");
    }
    RETURN_IF_ERROR(log_.Sync().status());
    RETURN_IF_ERROR(outputs_.Commit());
    if (command_.dump_plan) absl::StrAppend(&text, trainer_->backend().PlanText());
    absl::StrAppend(&text, trainer_->backend().ProfileText());
    return Tell(text);
  }

  RunReport MakeReport() const {
    RunReport report = report_->Finish(evaluation_, scope_, *command_.quantizers);
    report.set_program(NameInReport(command_.program));
    AddSetting("data", NameInReport(command_.training_data), &report);
    if (command_.test_data) AddSetting("test data", NameInReport(*command_.test_data), &report);
    if (command_.keep_best) AddSetting("kept, the best by", command_.keep_best_text, &report);
    AddSetting("steps", absl::StrCat(trainer_->step()), &report);
    if (begun_with_ > 0) AddSetting("steps of earlier runs", absl::StrCat(begun_with_), &report);
    AddSetting("batch size", absl::StrCat(command_.batch_size), &report);
    AddSetting("learning rate", command_.learning_rate_text, &report);
    if (command_.backend_options.backward != BackwardPrecision::kFloat) {
      AddSetting("backward pass",
                 std::string(BackwardPrecisionName(command_.backend_options.backward)), &report);
    }
    AddSetting("seed", absl::StrCat(command_.backend_options.seed), &report);
    return report;
  }

  const TrainingCommand& command_;
  Outputs outputs_;
  TrainingLog log_;
  Program training_;
  Program startup_;
  Program evaluation_;
  Program estimation_;  // of the statistics of batch norm; empty if they stay
  BatchRunOptions options_;
  BatchRunOptions test_options_;  // the same, with the variables that are fed the test data
  std::unique_ptr<SampleSet> training_set_;
  std::unique_ptr<SampleSet> test_set_;
  Scope scope_;
  std::optional<Trainer> trainer_;
  std::optional<Evaluator> evaluator_;
  TrainingState state_;
  int64_t steps_ = 0;  // steps of the whole run
  std::optional<FedRate> rate_;
  std::optional<CheckpointFolder> checkpoints_;
  std::optional<TrainingReport> report_;
  int64_t begun_with_ = 0;  // steps done before this run
  Scope dumped_;
};

}  // namespace

absl::StatusOr<ExitCode> RunTrainingCommand(const TrainingCommand& command) {
  RETURN_IF_ERROR(CheckInputs({command.program, command.startup, command.eval_program}));
  return TrainingRun(command).Run();
}

}  // namespace fixpoint
