// A network that predicts on random numbers, to be timed.

#ifndef FIXPOINT_BENCHMARKS_TIMED_PREDICTOR_H_
#define FIXPOINT_BENCHMARKS_TIMED_PREDICTOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/inference_form.h"
#include "runtime/predictor.h"
#include "runtime/tensor.h"

namespace fixpoint {

class TimedPredictor {
 public:
  TimedPredictor(const std::string& network, Form form, int64_t batch, bool profile = false,
                 int threads = 1);
  TimedPredictor(InferenceForm form, int64_t batch, bool profile = false, int threads = 1);

  // Gives the processor time of a run in seconds.
  double Run();

  Predictor& predictor() { return *predictor_; }

 private:
  std::unique_ptr<Predictor> predictor_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_TIMED_PREDICTOR_H_
