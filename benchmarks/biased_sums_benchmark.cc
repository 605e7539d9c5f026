// What a bias in int32 costs: convolutions and products of codes with it beside the same without
// it, in turn, by each way that there is to compute them.
//
//   OMP_NUM_THREADS=1 ./bazelw run --config=opt //benchmarks:biased_sums_benchmark
//
// Microseconds of one thread's processor time, the least of rounds in which both take turns, and
// the ratio of these. Weights are as large as codes are, on average half of it.

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/memory.h"

namespace fixpoint::kernels {
namespace {

constexpr int kRounds = 201;
constexpr double kSecondsOfRound = 0.0005;

// Operands, aligned as those of an executor are.
template <typename T>
class Operand {
 public:
  explicit Operand(int64_t size) : memory_(size * static_cast<int64_t>(sizeof(T))), size_(size) {
    part_ = memory_.Take(size * static_cast<int64_t>(sizeof(T)));
    CHECK(part_ != nullptr);
  }

  absl::Span<T> span() const {
    return {reinterpret_cast<T*>(part_.get()), static_cast<size_t>(size_)};
  }

 private:
  MemoryBlock memory_;
  int64_t size_;
  std::shared_ptr<uint8_t> part_;
};

// A kernel with what it reads and writes.
class Sums {
 public:
  Sums(std::unique_ptr<IntegerSums> sums, int64_t inputs, int64_t weights, int64_t channels,
       int64_t out, bool has_bias, bool stores_codes)
      : sums_(std::move(sums)),
        inputs_(inputs),
        packed_(sums_->packed_bytes()),
        scales_(channels),
        bias_(has_bias ? channels : 0),
        codes_(stores_codes ? out : 0),
        numbers_(stores_codes ? 0 : out),
        stages_(stores_codes ? 2 : 0) {
    uint32_t state = 1;
    const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 24; };
    for (uint8_t& code : inputs_.span()) code = static_cast<uint8_t>(next());
    std::vector<int8_t> codes(weights);
    for (int8_t& code : codes) code = static_cast<int8_t>(next());
    sums_->Pack(codes, packed_.span());
    for (float& scale : scales_.span()) scale = 1e-5f;
    for (int32_t& bias : bias_.span()) bias = 12345;
  }

  // Seconds of a run.
  double Time(int runs) {
    SumOperands operands = {inputs_.span(), packed_.span(), scales_.span()};
    operands.bias = bias_.span();
    operands.epilogue = stages_;
    const Output out = stages_.empty() ? Output(numbers_.span()) : Output(codes_.span());
    const double start = ProcessorSeconds();
    for (int i = 0; i < runs; ++i) sums_->Run(operands, out);
    return (ProcessorSeconds() - start) / runs;
  }

  std::string implementation() const { return sums_->implementation(); }

 private:
  const std::unique_ptr<IntegerSums> sums_;
  Operand<uint8_t> inputs_;
  Operand<uint8_t> packed_;
  Operand<float> scales_;
  Operand<int32_t> bias_;
  Operand<uint8_t> codes_;
  Operand<float> numbers_;
  std::vector<absl::Span<const float>> stages_;
};

void Compare(const std::string& name, Sums plain, Sums biased) {
  plain.Time(1);
  const int runs = std::max(1, static_cast<int>(kSecondsOfRound / plain.Time(1)));
  double least_plain = 1e9;
  double least_biased = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    least_plain = std::min(least_plain, plain.Time(runs));
    least_biased = std::min(least_biased, biased.Time(runs));
  }
  std::printf("%-44s %9.2f us %9.2f us %7.3f  %s, %s\n", name.c_str(), least_plain * 1e6,
              least_biased * 1e6, least_biased / least_plain, plain.implementation().c_str(),
              biased.implementation().c_str());
}

const Epilogue kToCodes = {{EpilogueStage::Kind::kRelu}, {EpilogueStage::Kind::kMultiply, 0.3f}};

template <typename Plan>
Sums Planned(const Plan& plan, const SumCoding& coding, bool stores_codes, int64_t inputs,
             int64_t weights, int64_t channels, int64_t out) {
  auto sums = stores_codes ? plan(coding, kToCodes, OutputType::kUint8)
                           : plan(coding, Epilogue(), OutputType::kFloat);
  CHECK(sums.ok()) << sums.status();
  return Sums(*std::move(sums), inputs, weights, channels, out, coding.has_bias, stores_codes);
}

void CompareConvolution(const char* way, int64_t channels, int64_t filters, int64_t kernel,
                        int64_t size, int64_t groups = 1, bool stores_codes = true) {
  ConvolutionShape shape;
  shape.channels = channels;
  shape.filters = filters;
  shape.groups = groups;
  shape.height = shape.width = size;
  const int64_t pad = kernel / 2;
  shape.window = {WindowAxis{kernel, 1, 1, pad, pad}, WindowAxis{kernel, 1, 1, pad, pad}};
  CHECK(CompleteShape(&shape).ok());
  const auto plan = [&](const SumCoding& coding, const Epilogue& epilogue, OutputType output) {
    return PlanIntegerConvolution(shape, coding, epilogue, output);
  };
  const auto planned = [&](const SumCoding& coding) {
    return Planned(plan, coding, stores_codes, shape.input_size(), shape.filter_size(),
                   shape.filters, shape.output_size());
  };
  char name[80];
  std::snprintf(name, sizeof(name), "%s: %dx%d, %d to %d, %dx%d", way, static_cast<int>(kernel),
                static_cast<int>(kernel), static_cast<int>(channels), static_cast<int>(filters),
                static_cast<int>(size), static_cast<int>(size));
  const SumCoding coding(CodeType::kUint8);
  Compare(name, planned(coding), planned(coding.WithBias()));
}

void CompareProduct(int64_t rows, int64_t inner, int64_t columns, bool stores_codes) {
  const ProductShape shape = {1, rows, inner, columns};
  const auto plan = [&](const SumCoding& coding, const Epilogue& epilogue, OutputType output) {
    return PlanIntegerProduct(shape, coding, epilogue, output);
  };
  const auto planned = [&](const SumCoding& coding) {
    return Planned(plan, coding, stores_codes, shape.x_size(), shape.y_size(), shape.columns,
                   shape.out_size());
  };
  char name[80];
  std::snprintf(name, sizeof(name), "product%s: %d x %d, %d columns",
                stores_codes ? "" : " to float", static_cast<int>(rows), static_cast<int>(inner),
                static_cast<int>(columns));
  const SumCoding coding(CodeType::kUint8);
  Compare(name, planned(coding), planned(coding.WithBias()));
}

void Main() {
  std::printf("%-44s %12s %12s %7s\n", "", "no bias", "bias", "ratio");
  CompareConvolution("tiles", 512, 512, 3, 7);
  CompareConvolution("tiles", 64, 64, 3, 56);
  CompareConvolution("tiles", 64, 256, 1, 56);
  CompareConvolution("tiles", 16, 16, 3, 32);
  CompareConvolution("depthwise", 128, 128, 3, 56, 128);
  CompareConvolution("depthwise", 512, 512, 3, 14, 512);
  CompareConvolution("one channel", 1, 6, 5, 28);
  CompareConvolution("oneDNN to float", 512, 512, 3, 7, 1, /*stores_codes=*/false);
  CompareConvolution("oneDNN to float", 128, 128, 3, 28, 1, /*stores_codes=*/false);
  CompareConvolution("oneDNN to float", 64, 64, 3, 56, 1, /*stores_codes=*/false);
  CompareConvolution("tiles", 256, 256, 3, 13);
  CompareConvolution("tiles", 96, 96, 3, 13);
  CompareConvolution("tiles", 48, 48, 3, 13);
  CompareConvolution("tiles", 144, 40, 1, 56);
  CompareConvolution("tiles", 16, 24, 1, 56);
  CompareConvolution("tiles", 3, 24, 3, 32);
  CompareConvolution("tiles, groups", 256, 256, 3, 28, 4);
  for (const bool stores_codes : {true, false}) {
    CompareProduct(1, 2048, 1000, stores_codes);
    CompareProduct(32, 2048, 1000, stores_codes);
    CompareProduct(128, 768, 768, stores_codes);
    CompareProduct(128, 256, 256, stores_codes);
    CompareProduct(16, 784, 10, stores_codes);
    CompareProduct(1, 256, 256, stores_codes);
    CompareProduct(1, 84, 10, stores_codes);
  }
}

}  // namespace
}  // namespace fixpoint::kernels

int main() { fixpoint::kernels::Main(); }
