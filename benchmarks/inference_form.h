// A network as it predicts: in float, as training simulates it, or on integers.

#ifndef FIXPOINT_BENCHMARKS_INFERENCE_FORM_H_
#define FIXPOINT_BENCHMARKS_INFERENCE_FORM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/networks.h"
#include "proto/program/program.h"
#include "runtime/scope.h"

namespace fixpoint {

// What a network is run as.
enum class Form { kFloat, kSimulated, kLowered, kLoweredWithIntegerBiases };

struct InferenceForm {
  Program program;
  Scope scope;
  std::string image;
  std::vector<int64_t> image_dims;  // of one image
  std::string scores;
};

// A network of networks.h on its usual image size, or on 224 x 224 where it was made for that; its
// parameters are what a few steps of training leave.
InferenceForm MakeInferenceForm(const std::string& network, Form form,
                                AfterConvolution after_convolution = AfterConvolution::kBatchNorm);

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_INFERENCE_FORM_H_
