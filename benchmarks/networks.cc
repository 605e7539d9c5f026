#include "benchmarks/networks.h"

#include <glog/logging.h>

#include <cmath>

#include "absl/types/span.h"
#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"

namespace fixpoint {
namespace {

// What layers are added to.
class Layers : public ProgramBuilder {
 public:
  Layers(Program* main, Program* startup, AfterConvolution after)
      : ProgramBuilder(main, startup), after_convolution(after) {}

  const AfterConvolution after_convolution;
};

std::string ConvolutionNorm(Layers& net, const std::string& x, int filters, int kernel, int stride,
                            int groups = 1) {
  const bool has_norm = net.after_convolution != AfterConvolution::kBias;
  Conv2dOptions options;
  options.stride = stride;
  options.padding = kernel / 2;
  options.groups = groups;
  options.bias = net.after_convolution != AfterConvolution::kBatchNorm;
  const std::string sums = Conv2d(net, x, filters, kernel, options);
  return has_norm ? BatchNorm(net, sums) : sums;
}

std::string ConvolutionNormRelu(Layers& net, const std::string& x, int filters, int kernel,
                                int stride, int groups = 1) {
  return Relu(net, ConvolutionNorm(net, x, filters, kernel, stride, groups));
}

std::string LeNet5(Layers& net, const std::string& image) {
  Conv2dOptions padded;
  padded.padding = 2;
  std::string x = MaxPool2d(net, Relu(net, Conv2d(net, image, 6, 5, padded)), 2);
  x = MaxPool2d(net, Relu(net, Conv2d(net, x, 16, 5)), 2);
  x = Relu(net, Fc(net, x, 120));
  x = Relu(net, Fc(net, x, 84));
  return Fc(net, x, 10);
}

// Three stages of residual blocks of two convolutions.
std::string ResidualNetwork(Layers& net, const std::string& image, int first_stride, int blocks) {
  std::string x = ConvolutionNormRelu(net, image, 16, 3, first_stride);
  for (const int filters : {16, 32, 64}) {
    for (int block = 0; block < blocks; ++block) {
      const int stride = filters > 16 && block == 0 ? 2 : 1;
      const std::string inner =
          ConvolutionNorm(net, ConvolutionNormRelu(net, x, filters, 3, stride), filters, 3, 1);
      const std::string shortcut = stride == 1 ? x : ConvolutionNorm(net, x, filters, 1, stride);
      x = Relu(net, Add(net, shortcut, inner));
    }
  }
  return Fc(net, GlobalAvgPool2d(net, x), 10);
}

std::string ResNet20(Layers& net, const std::string& image) {
  return ResidualNetwork(net, image, 1, 3);
}

// A thirteenth of its multiplications.
std::string SmallResNet(Layers& net, const std::string& image) {
  return ResidualNetwork(net, image, 2, 1);
}

// Stride 2 in the convolution of 3 x 3 of a block, as most have it.
std::string ResNet50(Layers& net, const std::string& image) {
  Pool2dOptions pooling;
  pooling.stride = 2;
  pooling.padding = 1;
  std::string x = MaxPool2d(net, ConvolutionNormRelu(net, image, 64, 7, 2), 3, pooling);
  int stage = 0;
  for (const int blocks : {3, 4, 6, 3}) {
    const int filters = 64 << stage;
    for (int block = 0; block < blocks; ++block) {
      const int stride = stage > 0 && block == 0 ? 2 : 1;
      const std::string inner =
          ConvolutionNormRelu(net, ConvolutionNormRelu(net, x, filters, 1, 1), filters, 3, stride);
      const std::string outer = ConvolutionNorm(net, inner, 4 * filters, 1, 1);
      const std::string shortcut = block == 0 ? ConvolutionNorm(net, x, 4 * filters, 1, stride) : x;
      x = Relu(net, Add(net, shortcut, outer));
    }
    ++stage;
  }
  return Fc(net, GlobalAvgPool2d(net, x), 1000);
}

struct SeparableBlock {
  int filters;
  int stride;
};

// A convolution of stride 2, blocks of a depthwise and a pointwise convolution, a product.
std::string SeparableNetwork(Layers& net, const std::string& image, int channels,
                             absl::Span<const SeparableBlock> blocks, int classes) {
  std::string x = ConvolutionNormRelu(net, image, channels, 3, 2);
  for (const auto& [filters, stride] : blocks) {
    x = ConvolutionNormRelu(net, x, channels, 3, stride, channels);
    x = ConvolutionNormRelu(net, x, filters, 1, 1);
    channels = filters;
  }
  return Fc(net, GlobalAvgPool2d(net, x), classes);
}

std::string MobileNetV1(Layers& net, const std::string& image) {
  return SeparableNetwork(net, image, 32,
                          {{64, 1},
                           {128, 2},
                           {128, 1},
                           {256, 2},
                           {256, 1},
                           {512, 2},
                           {512, 1},
                           {512, 1},
                           {512, 1},
                           {512, 1},
                           {512, 1},
                           {1024, 2},
                           {1024, 1}},
                          1000);
}

std::string SmallSeparable(Layers& net, const std::string& image) {
  return SeparableNetwork(net, image, 16, {{32, 1}, {64, 2}, {64, 1}}, 10);
}

// Averages, what is scaled up by a transposed convolution, and both joined along the channels, as
// networks of segmentation do.
std::string UpDown(Layers& net, const std::string& image) {
  const std::string fine = ConvolutionNormRelu(net, image, 8, 3, 2);
  const std::string coarse = ConvolutionNormRelu(net, AvgPool2d(net, fine, 2), 16, 3, 1);
  Conv2dOptions doubling;
  doubling.stride = 2;
  const std::string scaled = Relu(net, Conv2dTranspose(net, coarse, 8, 2, doubling));
  const std::string joined = ConvolutionNormRelu(net, Concat(net, {fine, scaled}, 1), 16, 3, 2);
  return Fc(net, GlobalAvgPool2d(net, joined), 10);
}

// Of a block of an encoder (Vaswani et al., 2017).
struct EncoderSizes {
  int width;
  int heads;
  int inner;
};

// Tokens [N,T,C], which attend to one another in heads.
std::string SelfAttention(Layers& net, const std::string& tokens, const EncoderSizes& sizes) {
  const auto [width, count, inner] = sizes;
  const auto heads = [&, width = width, count = count](const std::string& x) {
    return Transpose(net, Reshape(net, Fc(net, x, width, 2), {0, 0, count, width / count}),
                     {0, 2, 1, 3});
  };
  const std::string queries = heads(tokens);
  const std::string keys = heads(tokens);
  const std::string values = heads(tokens);
  const std::string scores = Matmul(net, queries, keys, /*transpose_x=*/false,
                                    /*transpose_y=*/true);
  const float scale = 1 / std::sqrt(static_cast<float>(width / count));
  const std::string attended = Matmul(net, Softmax(net, Scale(net, scores, scale)), values);
  return Fc(net, Reshape(net, Transpose(net, attended, {0, 2, 1, 3}), {0, 0, width}), width, 2);
}

std::string EncoderBlock(Layers& net, const std::string& tokens, const EncoderSizes& sizes,
                         const std::string& activation) {
  const std::string attended =
      LayerNorm(net, Add(net, tokens, SelfAttention(net, tokens, sizes)), 2);
  const std::string inner = Activation(net, Fc(net, attended, sizes.inner, 2), activation);
  return LayerNorm(net, Add(net, attended, Fc(net, inner, sizes.width, 2)), 2);
}

// Patches of 7 x 7 as tokens (Dosovitskiy et al., 2020), and two blocks.
std::string Encoder(Layers& net, const std::string& image) {
  constexpr int kPatch = 7;
  constexpr int kWidth = 32;
  constexpr EncoderSizes kSizes = {kWidth, /*heads=*/4, /*inner=*/4 * kWidth};
  Conv2dOptions patches;
  patches.stride = kPatch;
  const std::string patched = Conv2d(net, image, kWidth, kPatch, patches);
  const std::vector<int64_t> dims = net.DimsOf(patched);
  const auto patch_count = static_cast<int>(dims[2] * dims[3]);
  const std::string columns = Reshape(net, patched, {0, kWidth, patch_count});
  const std::string tokens = LayerNorm(net, Transpose(net, columns, {0, 2, 1}), 2);
  const std::string encoded =
      EncoderBlock(net, EncoderBlock(net, tokens, kSizes, "relu"), kSizes, "gelu");
  return Fc(net, encoded, 10);
}

// Two blocks over tokens, each as wide as in small and medium models of text.
template <int kWidth, int kHeads>
std::string TokenEncoder(Layers& net, const std::string& tokens) {
  constexpr EncoderSizes kSizes = {kWidth, kHeads, /*inner=*/4 * kWidth};
  const std::string encoded =
      EncoderBlock(net, EncoderBlock(net, tokens, kSizes, "gelu"), kSizes, "gelu");
  return Fc(net, encoded, 10);
}

struct Row {
  const char* name;
  std::string (*build)(Layers& net, const std::string& image);
  std::vector<int64_t> dims;  // of an image
};

const std::vector<Row>& Rows() {
  static const auto* const rows =
      new std::vector<Row>{{"lenet5", LeNet5, {1, 28, 28}},
                           {"resnet20", ResNet20, {3, 32, 32}},
                           {"small_resnet", SmallResNet, {3, 32, 32}},
                           {"mobilenet_v1", MobileNetV1, {3, 96, 96}},
                           {"small_separable", SmallSeparable, {1, 28, 28}},
                           {"up_down", UpDown, {1, 28, 28}},
                           {"encoder", Encoder, {1, 28, 28}},
                           {"encoder_256", TokenEncoder<256, 4>, {128, 256}},
                           {"encoder_512", TokenEncoder<512, 8>, {128, 512}},
                           {"resnet50", ResNet50, {3, 224, 224}}};
  return *rows;
}

// Of a batch; -1: of any.
std::vector<int64_t> BatchOf(int64_t batch, const std::vector<int64_t>& dims) {
  std::vector<int64_t> of_batch = {batch};
  of_batch.insert(of_batch.end(), dims.begin(), dims.end());
  return of_batch;
}

}  // namespace

std::vector<std::string> NetworkNames() {
  std::vector<std::string> names;
  for (const Row& row : Rows()) names.push_back(row.name);
  return names;
}

Network BuildNetwork(const std::string& name, int64_t batch, Training training, int64_t image_size,
                     AfterConvolution after_convolution) {
  for (const Row& row : Rows()) {
    if (name != row.name) continue;
    Network network;
    network.main = EmptyProgram(2, 6, 2);
    network.startup = EmptyProgram(2, 6, 2);
    Layers net(&network.main, &network.startup, after_convolution);
    std::vector<int64_t> dims = row.dims;
    if (image_size > 0) dims = {dims.front(), image_size, image_size};
    network.image = Data(net, "image", BatchOf(-1, dims));
    network.label = Data(net, "label", {-1, 1}, VarType::INT64);
    network.image_dims = BatchOf(batch, dims);
    network.scores = row.build(net, network.image);
    network.loss = Mean(net, SoftmaxWithCrossEntropy(net, network.scores, network.label));
    const bool is_nesterov = training == Training::kNesterov;
    const auto rule = training == Training::kAdam ? Adam() : Momentum(0.9f, is_nesterov);
    Optimizer optimizer(rule, 0.01f);
    if (is_nesterov) optimizer.set_l2_decay(5e-4f);
    const auto minimized = optimizer.Minimize(net, network.loss);
    CHECK(minimized.ok()) << minimized.status();
    return network;
  }
  LOG(FATAL) << "no network " << name;
}

}  // namespace fixpoint
