// Small networks with the inputs and outputs of PP-OCR's, which learn to find, turn and read drawn
// text in about a minute.

#ifndef FIXPOINT_EXAMPLES_OCR_NETWORKS_H_
#define FIXPOINT_EXAMPLES_OCR_NETWORKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/program_builder.h"
#include "runtime/data/sample_set.h"
#include "runtime/inference_model.h"

namespace fixpoint {
namespace ocr {

// What a network computes, in the variables of the fields of its samples (drawn_samples.h).
struct NetworkEnds {
  std::string output;  // when it is used
  std::string loss;    // when it is trained
};

struct NetworkPlan {
  const char* name;  // also of its folder
  NetworkEnds (*build)(ProgramBuilder& net);
  std::unique_ptr<SampleSet> (*samples)(int64_t size, uint64_t seed);
  int64_t steps;
  int64_t batch_size;
  float rate;  // of learning
};

// Maps [N,1,H,W] of probabilities; probabilities [N,2]; probabilities [N,steps,classes].
const NetworkPlan& DetectionPlan();
const NetworkPlan& DirectionPlan();
const NetworkPlan& RecognitionPlan();

// The loss is shown to `progress`, every 50 steps. Errors: those of Optimizer::Minimize and
// Trainer::Step.
absl::StatusOr<InferenceModel> TrainNetwork(
    const NetworkPlan& plan, const std::function<void(int64_t step, double loss)>& progress);

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_NETWORKS_H_
