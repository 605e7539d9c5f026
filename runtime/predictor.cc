#include "runtime/predictor.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "runtime/executor/profile.h"
#include "runtime/guarded_call.h"
#include "runtime/inference_model.h"
#include "runtime/parameter_file.h"
#include "runtime/shared_program.h"

namespace fixpoint {

using executor::Executor;

Predictor::Predictor(Program program, Scope scope, const PredictorOptions& options)
    : program_(std::move(program)), scope_(std::move(scope)), options_(options) {}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Load(const std::string& path,
                                                           const PredictorOptions& options) {
  return GuardedCall(path, [&]() -> absl::StatusOr<std::unique_ptr<Predictor>> {
    ASSIGN_OR_RETURN(InferenceModel model, LoadInferenceModel(path));
    return Create(std::move(model.program), std::move(model.parameters), options);
  });
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Create(Program program, Scope scope,
                                                             const PredictorOptions& options) {
  return GuardedCall("the predictor", [&]() -> absl::StatusOr<std::unique_ptr<Predictor>> {
    DropPersistableOfOneRun(&program);
    auto predictor =
        std::unique_ptr<Predictor>(new Predictor(std::move(program), std::move(scope), options));
    RETURN_IF_ERROR(CheckWritesNoParameters(predictor->program_));
    RETURN_IF_ERROR(predictor->NameInputsAndOutputs());
    RETURN_IF_ERROR(predictor->CheckParameters());
    // Ops that the executor does not run are an error here, not in the first run.
    ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, predictor->TakeRunner());
    predictor->GiveBack(std::move(runner));
    return predictor;
  });
}

absl::Status Predictor::NameInputsAndOutputs() {
  inputs_ = options_.inputs.empty() ? NamesOf(FedVariables(program_)) : options_.inputs;
  outputs_ = options_.outputs.empty() ? NamesOf(FetchedVariables(program_)) : options_.outputs;
  if (outputs_.empty()) {
    return absl::FailedPreconditionError(
        "the program has no fetch; want one for each output, as transpile --mode=freeze makes "
        "them");
  }
  return absl::OkStatus();
}

absl::Status Predictor::CheckParameters() const {
  for (const ParameterInfo& parameter : ParametersOf(program_.Proto())) {
    if (scope_.FindOrNull(parameter.name) != nullptr) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("parameter \"", parameter.name,
                     "\" is not in the scope; want what the program was saved with"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Predictor::Runner>> Predictor::TakeRunner() {
  std::unique_ptr<Runner> runner;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      runner = std::move(idle_.back());
      idle_.pop_back();
      return runner;
    }
    runner = std::make_unique<Runner>(program_.Clone());
  }
  executor::ExecutorOptions options;
  options.threads = options_.threads;
  options.profile = options_.profile;
  options.max_iterations = options_.max_iterations;
  options.constants = &constants_;
  options.scope_is_shared = true;
  ASSIGN_OR_RETURN(runner->executor, Executor::Create(runner->program, &scope_, options));
  return runner;
}

void Predictor::GiveBack(std::unique_ptr<Runner> runner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(runner));
}

absl::StatusOr<Predictor::Feeds> Predictor::FeedsOf(absl::Span<const Tensor> inputs) const {
  if (inputs.size() != inputs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", inputs.size(), " inputs; want ",
                                                   inputs_.size(), ", as many as are fed"));
  }
  Feeds feeds;
  for (size_t i = 0; i < inputs.size(); ++i) feeds.push_back({inputs_[i], &inputs[i]});
  return feeds;
}

absl::Status Predictor::Run(absl::Span<const Tensor> inputs, std::vector<Tensor>* outputs) {
  ASSIGN_OR_RETURN(const Feeds feeds, FeedsOf(inputs));
  ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, TakeRunner());
  const absl::Status status = runner->executor->RunInto(feeds, outputs_, /*step=*/0, outputs);
  GiveBack(std::move(runner));
  return status;
}

absl::StatusOr<std::vector<Tensor>> Predictor::Run(absl::Span<const Tensor> inputs) {
  std::vector<Tensor> outputs;
  RETURN_IF_ERROR(Run(inputs, &outputs));
  return outputs;
}

absl::StatusOr<int64_t> Predictor::BytesMoved(absl::Span<const Tensor> inputs) {
  ASSIGN_OR_RETURN(const Feeds feeds, FeedsOf(inputs));
  ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner, TakeRunner());
  const absl::StatusOr<double> bytes = runner->executor->BytesMovedBy(feeds, outputs_);
  GiveBack(std::move(runner));
  if (!bytes.ok()) return bytes.status();
  return static_cast<int64_t>(*bytes);
}

int64_t Predictor::parameter_bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, value] : scope_) {
    const auto* tensor = std::get_if<Tensor>(&value);
    if (tensor != nullptr) bytes += static_cast<int64_t>(tensor->bytes().size());
  }
  return bytes;
}

std::string Predictor::PlanText() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return idle_.empty() ? "" : idle_.back()->executor->PlanText();
}

std::string Predictor::ProfileText() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return idle_.empty() ? "" : idle_.back()->executor->ProfileText();
}

CodedProducts Predictor::CountCodedProducts() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return idle_.empty() ? CodedProducts() : idle_.back()->executor->CountCodedProducts();
}

std::vector<executor::ProfileRow> Predictor::ProfileRows() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return {};
  return idle_.back()->executor->ProfileRows();
}

}  // namespace fixpoint
