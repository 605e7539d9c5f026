#include "benchmarks/timed_trainer.h"

#include <glog/logging.h>

#include <utility>

#include "runtime/random.h"
#include "transpiler/plan/target.h"

namespace fixpoint {

namespace {

std::optional<TranspileOptions> OptionsOf(TrainedAs trained_as) {
  if (trained_as == TrainedAs::kFloat) return std::nullopt;
  TranspileOptions options;
  options.target = *BuiltInTarget("onednn_int8");
  if (trained_as == TrainedAs::kQuantizedWithIntegerBiases) options.target->set_bias(Target::INT32);
  return options;
}

}  // namespace

TimedTrainer::TimedTrainer(Network network, TrainedAs trained_as, bool profile, int threads,
                           BackwardPrecision backward, double recomputing)
    : TimedTrainer(std::move(network), OptionsOf(trained_as), profile, threads, backward,
                   recomputing) {}

TimedTrainer::TimedTrainer(Network network, std::optional<TranspileOptions> quantized, bool profile,
                           int threads, BackwardPrecision backward, double recomputing)
    : network_(std::move(network)),
      threads_(threads),
      image_(*Tensor::Allocate(VarType::FP32, network_.image_dims)),
      label_(*Tensor::Allocate(VarType::INT64, {network_.image_dims[0], 1})) {
  if (quantized.has_value()) {
    quantized->startup = &network_.startup;
    const auto transpiled = Transpile(&network_.main, *quantized);
    CHECK(transpiled.ok()) << transpiled.status();
  }
  auto startup = executor::Executor::Create(network_.startup, &scope_, {/*seed=*/1});
  CHECK(startup.ok()) << startup.status();
  const auto initialised = (*startup)->Run({}, {}, 0);
  CHECK(initialised.ok()) << initialised.status();
  executor::ExecutorOptions options;
  options.profile = profile;
  options.threads = threads;
  options.backward = backward;
  options.recomputing = recomputing;
  auto made = executor::Executor::Create(network_.main, &scope_, options);
  CHECK(made.ok()) << made.status();
  executor_ = *std::move(made);
  const RandomStream random(1, 0, 0);
  for (int64_t i = 0; i < image_.size(); ++i) {
    image_.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
  }
  for (int64_t i = 0; i < label_.size(); ++i) label_.mutable_data<int64_t>()[i] = i * 7 % 10;
}

double TimedTrainer::Step() {
  const double begin = Now();
  const Feed feeds[] = {{network_.image, &image_}, {network_.label, &label_}};
  const auto loss = executor_->Run(feeds, {network_.loss}, step_++);
  CHECK(loss.ok()) << loss.status();
  loss_ = loss->front().data<float>()[0];
  return Now() - begin;
}

TrainedNetwork TimedTrainer::Take() {
  executor_.reset();
  return {std::move(network_.main), std::move(scope_)};
}

const executor::Plan& TimedTrainer::plan() {
  const Feed feeds[] = {{network_.image, &image_}, {network_.label, &label_}};
  return **executor_->PlanOf(feeds, {network_.loss});
}

}  // namespace fixpoint
