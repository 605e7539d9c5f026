// A network that is trained on random numbers, step by step, to be timed.

#ifndef FIXPOINT_BENCHMARKS_TIMED_TRAINER_H_
#define FIXPOINT_BENCHMARKS_TIMED_TRAINER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/clock.h"
#include "benchmarks/networks.h"
#include "runtime/backward_precision.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/profile.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

// A network with the parameters that some steps leave.
struct TrainedNetwork {
  Program main;
  Scope scope;
};

// How a network is trained: quantized has activations by moving average and weights per channel;
// with integer biases, these are rounded to steps of the sums too.
enum class TrainedAs { kFloat, kQuantized, kQuantizedWithIntegerBiases };

class TimedTrainer {
 public:
  // With its parameters, ready to step.
  TimedTrainer(Network network, TrainedAs trained_as, bool profile = false, int threads = 1,
               BackwardPrecision backward = BackwardPrecision::kFloat, double recomputing = 0);
  // Quantized as the options say, but for their startup program; without any, in float.
  TimedTrainer(Network network, std::optional<TranspileOptions> quantized, bool profile = false,
               int threads = 1, BackwardPrecision backward = BackwardPrecision::kFloat,
               double recomputing = 0);

  // Gives the seconds of the step: of the processor on one thread, and of the clock on several.
  double Step();

  // The loss of the last step.
  float loss() const { return loss_; }
  const executor::Plan& plan();
  std::string ProfileText() const { return executor_->ProfileText(); }
  std::vector<executor::ProfileRow> ProfileRows() const { return executor_->ProfileRows(); }

  // Nothing else may be called afterwards.
  TrainedNetwork Take();

 private:
  double Now() const { return threads_ == 1 ? CpuSeconds() : WallSeconds(); }

  Network network_;
  const int threads_;
  Scope scope_;
  std::unique_ptr<executor::Executor> executor_;
  Tensor image_;
  Tensor label_;
  uint32_t step_ = 0;
  float loss_ = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_TIMED_TRAINER_H_
