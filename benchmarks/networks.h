// Networks that are timed and trained.

#ifndef FIXPOINT_BENCHMARKS_NETWORKS_H_
#define FIXPOINT_BENCHMARKS_NETWORKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/program/program.h"

namespace fixpoint {

struct Network {
  Program main;
  Program startup;
  std::string image;
  std::vector<int64_t> image_dims;  // of a batch
  std::string label;
  std::string scores;  // of the classes
  std::string loss;
};

// "lenet5": two convolutions and three products on 28 x 28 (LeCun et al., 1998); "resnet20": on
// 32 x 32 (He et al., 2015); "mobilenet_v1": on 96 x 96 (Howard et al., 2017); "small_separable":
// three blocks of the latter on 28 x 28; "up_down": a transposed convolution, joined with what it
// is made from, on 28 x 28; "encoder": two blocks of attention (Vaswani et al., 2017) on 28 x 28;
// "encoder_256" and "encoder_512": two such blocks on 128 tokens of that width, with 4 and 8 heads
// and inner products four times as wide; "resnet50": on 224 x 224 (He et al., 2015).
std::vector<std::string> NetworkNames();
// kNesterov: Nesterov's momentum of 0.9 and an L2 decay of 5e-4, as is usual for CIFAR-10.
enum class Training { kMomentum, kAdam, kNesterov };
// What comes after the convolutions that have a batch norm: kBias is how a network is deployed
// whose batch norms were folded into its filters.
enum class AfterConvolution { kBatchNorm, kBias, kBiasAndBatchNorm };
// A network in float. REQUIRES: a name of NetworkNames; an image size that its layers leave pixels
// of, or 0, its own, as tokens have.
Network BuildNetwork(const std::string& name, int64_t batch,
                     Training training = Training::kMomentum, int64_t image_size = 0,
                     AfterConvolution after_convolution = AfterConvolution::kBatchNorm);

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_NETWORKS_H_
