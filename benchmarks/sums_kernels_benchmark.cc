// The kernels of sums of codes beside each other, on shapes that several of them compute: where the
// rates of their table (runtime/kernels/sums_kernels.cc) come from.
//
//   OMP_NUM_THREADS=1 ./bazelw run --config=opt //benchmarks:sums_kernels_benchmark
//
// How fast each is as a multiple of oneDNN's kernel without a bias, by one thread's processor time:
// the median of rounds in which all take turns, and, at the end, the geometric mean over the
// shapes. Inputs are u8, and what is stored are u8 codes after a relu.

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "ops/window.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sums_kernels.h"
#include "runtime/kernels/sums_problem.h"

namespace fixpoint::kernels {
namespace {

constexpr int kRounds = 31;
constexpr double kSecondsOfRound = 0.001;

struct Sizes {
  int64_t inputs;
  int64_t weights;
  int64_t channels;
  int64_t out;
};

Sizes SizesOf(const SumsProblem& problem) {
  if (const ConvolutionShape* const shape = problem.convolution()) {
    return {shape->input_size(), shape->filter_size(), shape->filters, shape->output_size()};
  }
  const ProductShape& shape = *problem.product();
  return {shape.x_size(), shape.y_size(), shape.columns, shape.out_size()};
}

// For each kernel, the logarithms of its rates on the shapes that it is for.
using Rates = std::map<std::string, std::vector<double>>;

// A planned kernel with what it reads and writes.
class Contender {
 public:
  Contender(const SumsProblem& problem, std::string name, std::unique_ptr<IntegerSums> sums)
      : name_(std::move(name)), sums_(std::move(sums)), epilogue_(problem.epilogue.size()) {
    const Sizes sizes = SizesOf(problem);
    uint32_t state = 1;
    const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 24; };
    inputs_.resize(sizes.inputs);
    for (uint8_t& code : inputs_) code = static_cast<uint8_t>(next());
    std::vector<int8_t> codes(sizes.weights);
    for (int8_t& code : codes) code = static_cast<int8_t>(next());
    packed_ = Packed(*sums_, codes);
    scales_.assign(sizes.channels, 1e-5f);
    bias_.assign(problem.coding.has_bias ? sizes.channels : 0, 12345);
    out_.resize(sizes.out);
  }

  // Seconds of a run.
  double Time(int runs) {
    SumOperands operands = {inputs_, packed_, scales_};
    operands.bias = bias_;
    operands.epilogue = epilogue_;
    const double start = ProcessorSeconds();
    for (int i = 0; i < runs; ++i) sums_->Run(operands, absl::MakeSpan(out_));
    return (ProcessorSeconds() - start) / runs;
  }

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::unique_ptr<IntegerSums> sums_;
  std::vector<uint8_t> inputs_;
  std::vector<uint8_t> packed_;
  std::vector<float> scales_;
  std::vector<int32_t> bias_;
  std::vector<uint8_t> out_;
  std::vector<absl::Span<const float>> epilogue_;
};

void AddContenders(const SumsProblem& problem, std::vector<Contender>* contenders) {
  for (const SumsKernel* const kernel : KernelsFor(problem)) {
    std::unique_ptr<IntegerSums> sums = kernel->plan(problem);
    if (sums == nullptr) continue;
    contenders->emplace_back(problem,
                             std::string(kernel->name) + (problem.coding.has_bias ? " + bias" : ""),
                             std::move(sums));
  }
}

void Compare(const std::string& title, SumsProblem problem, Rates* all) {
  std::vector<Contender> contenders;
  AddContenders(problem, &contenders);
  problem.coding = problem.coding.WithBias();
  AddContenders(problem, &contenders);
  const auto onednn =
      std::find_if(contenders.begin(), contenders.end(),
                   [](const Contender& contender) { return contender.name() == "oneDNN"; });
  CHECK(onednn != contenders.end());
  const size_t base = onednn - contenders.begin();
  std::vector<int> runs;
  for (Contender& contender : contenders) {
    contender.Time(1);
    runs.push_back(std::max(1, static_cast<int>(kSecondsOfRound / contender.Time(1))));
  }
  std::vector<std::vector<double>> rates(contenders.size());
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> seconds;
    for (size_t i = 0; i < contenders.size(); ++i) {
      seconds.push_back(contenders[i].Time(runs[i]));
    }
    least = std::min(least, seconds[base]);
    for (size_t i = 0; i < seconds.size(); ++i) rates[i].push_back(seconds[base] / seconds[i]);
  }
  std::printf("%s, %.1f us in oneDNN\n", title.c_str(), least * 1e6);
  for (size_t i = 0; i < contenders.size(); ++i) {
    std::nth_element(rates[i].begin(), rates[i].begin() + kRounds / 2, rates[i].end());
    std::printf("  %-28s %5.2f\n", contenders[i].name().c_str(), rates[i][kRounds / 2]);
    (*all)[contenders[i].name()].push_back(std::log(rates[i][kRounds / 2]));
  }
}

const Epilogue kToCodes = {{EpilogueStage::Kind::kRelu}, {EpilogueStage::Kind::kMultiply, 0.3f}};

void CompareConvolution(int64_t channels, int64_t filters, int64_t groups, int64_t kernel,
                        int64_t size, Rates* all) {
  ConvolutionShape shape;
  shape.channels = channels;
  shape.filters = filters;
  shape.groups = groups;
  shape.height = shape.width = size;
  const WindowAxis axis = {kernel, 1, 1, kernel / 2, kernel / 2};
  shape.window = {axis, axis};
  CHECK(CompleteShape(&shape).ok());
  char title[80];
  std::snprintf(title, sizeof(title), "%dx%d, %d to %d%s, %dx%d", static_cast<int>(kernel),
                static_cast<int>(kernel), static_cast<int>(channels), static_cast<int>(filters),
                groups == 1 ? "" : " depthwise", static_cast<int>(size), static_cast<int>(size));
  Compare(title, {shape, CodeType::kUint8, kToCodes, OutputType::kUint8}, all);
}

void CompareProduct(int64_t rows, int64_t inner, int64_t columns, Rates* all) {
  char title[80];
  std::snprintf(title, sizeof(title), "product, %d x %d, %d columns", static_cast<int>(rows),
                static_cast<int>(inner), static_cast<int>(columns));
  Compare(title,
          {ProductShape{1, rows, inner, columns}, CodeType::kUint8, kToCodes, OutputType::kUint8},
          all);
}

void Main() {
  Rates all;
  CompareConvolution(1, 6, 1, 5, 28, &all);
  CompareConvolution(1, 32, 1, 5, 28, &all);
  CompareConvolution(128, 128, 128, 3, 56, &all);
  CompareConvolution(512, 512, 512, 3, 14, &all);
  CompareConvolution(512, 512, 1, 3, 7, &all);
  CompareConvolution(64, 64, 1, 3, 56, &all);
  CompareConvolution(64, 256, 1, 1, 56, &all);
  CompareConvolution(16, 16, 1, 3, 32, &all);
  CompareConvolution(3, 24, 1, 3, 32, &all);
  CompareConvolution(16, 24, 1, 1, 56, &all);
  CompareConvolution(32, 8, 1, 1, 56, &all);
  CompareConvolution(144, 40, 1, 1, 56, &all);
  CompareConvolution(240, 40, 1, 1, 28, &all);
  CompareConvolution(64, 72, 1, 3, 28, &all);
  CompareConvolution(512, 21, 1, 1, 28, &all);
  CompareConvolution(6, 12, 1, 5, 14, &all);
  CompareConvolution(64, 6, 1, 1, 16, &all);
  CompareConvolution(64, 3, 1, 3, 32, &all);
  CompareConvolution(16, 1, 1, 5, 16, &all);
  CompareProduct(1, 2048, 1000, &all);
  CompareProduct(128, 256, 256, &all);
  CompareProduct(16, 784, 10, &all);
  CompareProduct(1, 256, 256, &all);
  CompareProduct(1, 84, 10, &all);
  CompareProduct(32, 128, 16, &all);
  CompareProduct(32, 65, 10, &all);
  CompareProduct(1, 2048, 32, &all);
  std::printf("geometric means\n");
  for (const auto& [name, rates] : all) {
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    std::printf("  %-28s %5.2f\n", name.c_str(), std::exp(sum / static_cast<double>(rates.size())));
  }
}

}  // namespace
}  // namespace fixpoint::kernels

int main() { fixpoint::kernels::Main(); }
