// A network that is trained on random numbers, step by step, to be timed.

#ifndef FIXPOINT_BENCHMARKS_TIMED_TRAINER_H_
#define FIXPOINT_BENCHMARKS_TIMED_TRAINER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "benchmarks/networks.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint {

// Processor time of the whole process, in seconds.
double CpuSeconds();

// A network with the parameters that some steps leave.
struct TrainedNetwork {
  Program main;
  Scope scope;
};

class TimedTrainer {
 public:
  // With its parameters, ready to step, on one thread. Quantized: activations by moving average,
  // weights per channel.
  TimedTrainer(Network network, bool quantized, bool profile = false);

  // Gives the processor time of the step in seconds.
  double Step();

  // Of the last step.
  float loss() const { return loss_; }
  const executor::Plan& plan();
  std::string ProfileText() const { return executor_->ProfileText(); }

  // Nothing else may be called afterwards.
  TrainedNetwork Take();

 private:
  Network network_;
  Scope scope_;
  std::unique_ptr<executor::Executor> executor_;
  Tensor image_;
  Tensor label_;
  uint32_t step_ = 0;
  float loss_ = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_TIMED_TRAINER_H_
