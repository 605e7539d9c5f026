#include "tests/runtime/training/small_network.h"

#include <glog/logging.h>

#include <string>

#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

// The same parameters in both forms.
std::string Forward(ProgramBuilder& net, bool is_test) {
  const std::string image = Data(net, "image", {-1, 2});
  const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
  std::string hidden = Activation(net, Fc(net, image, 8), "tanh");
  if (!is_test) hidden = Dropout(net, hidden, 0.2f);
  return Mean(net, SoftmaxWithCrossEntropy(net, Fc(net, hidden, 2), label));
}

}  // namespace

SmallNetwork::SmallNetwork() {
  ProgramBuilder net(&main, &startup);
  const std::string loss = Forward(net, /*is_test=*/false);
  const auto minimized = Optimizer(Momentum(0.9f), 0.2f).Minimize(net, loss);
  CHECK(minimized.ok()) << minimized.status();
  Program ignored;
  ProgramBuilder test_net(&test, &ignored);
  Forward(test_net, /*is_test=*/true);
  CHECK(test_net.status().ok()) << test_net.status();
}

ImageSamples BrighterPixelSet(int64_t count) {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    pixels.push_back(static_cast<uint8_t>(i * 97));
    pixels.push_back(static_cast<uint8_t>(i * 31 + 50));
    labels.push_back(pixels[2 * i] > pixels[2 * i + 1]);
  }
  return ImageSamples::Create({Tensor::FromValues<uint8_t>({count, 1, 1, 2}, pixels),
                               Tensor::FromValues<int64_t>({count}, labels)})
      .value();
}

}  // namespace fixpoint
