// The kernels of sums of codes beside each other, on shapes that several of them compute, and
// beside floats: where the rates of their table (runtime/kernels/sums_kernels.cc) come from.
//
//   OMP_NUM_THREADS=1 ./bazelw run --config=opt //benchmarks:sums_kernels_benchmark
//
// How fast each is as a multiple of oneDNN's kernel without a bias, if the machine has the
// instructions for that, and of oneDNN's kernel of floats, by one thread's processor time: the
// median of rounds in which all take turns, and, at the end, the geometric means over the shapes,
// and over those of a kind. Inputs are u8, and what is stored are u8 codes after a relu; of floats,
// floats after a relu. ONEDNN_MAX_CPU_ISA=AVX2 and AVX512_CORE show the kernels of machines without
// VNNI.

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "ops/window.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/product.h"
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

// How fast a kernel is as a multiple of others.
struct Rate {
  SumsKind kind;
  double beside_onednn;  // 0: there is none
  double beside_floats;
};

// For each kernel, its rates on the shapes that it is for.
using Rates = std::map<std::string, std::vector<Rate>>;

// A planned kernel with what it reads and writes.
class Contender {
 public:
  explicit Contender(std::string name) : name_(std::move(name)) {}
  virtual ~Contender() = default;

  // Seconds of a run.
  double Time(int runs) {
    const double start = ProcessorSeconds();
    for (int i = 0; i < runs; ++i) Run();
    return (ProcessorSeconds() - start) / runs;
  }

  const std::string& name() const { return name_; }

 private:
  virtual void Run() = 0;

  const std::string name_;
};

// Bytes that are the same each time.
class Bytes {
 public:
  uint8_t Next() { return (state_ = state_ * 1664525u + 1013904223u) >> 24; }
  // The root of the mean square is 37, as in layers that were trained: 30 to 50.
  int8_t NextWeight() {
    int sum = 0;
    for (int i = 0; i < 4; ++i) sum += Next();
    return static_cast<int8_t>(sum / 4 - 127);
  }

 private:
  uint32_t state_ = 1;
};

class OfCodes final : public Contender {
 public:
  OfCodes(const SumsProblem& problem, std::string name, std::unique_ptr<IntegerSums> sums)
      : Contender(std::move(name)), sums_(std::move(sums)), epilogue_(problem.epilogue.size()) {
    const Sizes sizes = SizesOf(problem);
    Bytes bytes;
    inputs_.resize(sizes.inputs);
    for (uint8_t& code : inputs_) code = bytes.Next();
    std::vector<int8_t> codes(sizes.weights);
    for (int8_t& code : codes) code = bytes.NextWeight();
    packed_ = Packed(*sums_, codes);
    scales_.assign(sizes.channels, 1e-5f);
    bias_.assign(problem.coding.has_bias ? sizes.channels : 0, 12345);
    out_.resize(sizes.out);
  }

 private:
  void Run() override {
    SumOperands operands = {inputs_, packed_, scales_};
    operands.bias = bias_;
    operands.epilogue = epilogue_;
    sums_->Run(operands, absl::MakeSpan(out_));
  }

  std::unique_ptr<IntegerSums> sums_;
  std::vector<uint8_t> inputs_;
  std::vector<uint8_t> packed_;
  std::vector<float> scales_;
  std::vector<int32_t> bias_;
  std::vector<uint8_t> out_;
  std::vector<absl::Span<const float>> epilogue_;
};

const Epilogue kRelu = {{EpilogueStage::Kind::kRelu}};

absl::StatusOr<std::unique_ptr<ConvolutionForward>> PlanOfFloats(const ConvolutionShape& shape) {
  return ConvolutionForward::Plan(shape, kRelu);
}
absl::StatusOr<std::unique_ptr<Product>> PlanOfFloats(const ProductShape& shape) {
  return Product::Plan(shape, kRelu);
}

constexpr char kFloats[] = "oneDNN of floats";

template <typename Kernel>
class OfFloats final : public Contender {
 public:
  OfFloats(const SumsProblem& problem, std::unique_ptr<Kernel> kernel)
      : Contender(kFloats), kernel_(std::move(kernel)), epilogue_(kRelu.size()) {
    const Sizes sizes = SizesOf(problem);
    Bytes bytes;
    const auto numbers = [&bytes](int64_t size) {
      std::vector<float> numbers(size);
      for (float& number : numbers) number = bytes.Next() / 128.0f - 1;
      return numbers;
    };
    inputs_ = numbers(sizes.inputs);
    packed_ = Packed(*kernel_, numbers(sizes.weights));
    out_.resize(sizes.out);
  }

 private:
  void Run() override { kernel_->Run(inputs_, packed_, epilogue_, absl::MakeSpan(out_)); }

  std::unique_ptr<Kernel> kernel_;
  std::vector<float> inputs_;
  std::vector<uint8_t> packed_;
  std::vector<float> out_;
  std::vector<absl::Span<const float>> epilogue_;
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

template <typename Shape>
std::unique_ptr<Contender> FloatsFor(const SumsProblem& problem, const Shape& shape) {
  auto kernel = PlanOfFloats(shape);
  CHECK(kernel.ok()) << kernel.status();
  using Kernel = std::remove_reference_t<decltype(**kernel)>;
  return std::make_unique<OfFloats<Kernel>>(problem, *std::move(kernel));
}

void AddOfCodes(const SumsProblem& problem, Contenders* contenders) {
  for (const SumsKernel* const kernel : KernelsFor(problem)) {
    std::unique_ptr<IntegerSums> sums = kernel->plan(problem);
    if (sums == nullptr) continue;
    contenders->push_back(std::make_unique<OfCodes>(
        problem, std::string(kernel->name) + (problem.coding.has_bias ? " + bias" : ""),
        std::move(sums)));
  }
}

// The number of the contender of that name; nothing if there is none.
std::optional<size_t> Find(const Contenders& contenders, const std::string& name) {
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (contenders[i]->name() == name) return i;
  }
  return std::nullopt;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void Print(const std::string& name, double beside_onednn, double beside_floats) {
  std::printf("  %-28s", name.c_str());
  if (beside_onednn > 0) {
    std::printf(" %8.2f", beside_onednn);
  } else {
    std::printf(" %8s", "-");
  }
  std::printf(" %8.2f\n", beside_floats);
}

void Compare(const std::string& title, SumsProblem problem, Rates* all) {
  Contenders contenders;
  AddOfCodes(problem, &contenders);
  contenders.push_back(
      std::visit([&](const auto& shape) { return FloatsFor(problem, shape); }, problem.shape));
  problem.coding = problem.coding.WithBias();
  AddOfCodes(problem, &contenders);
  const std::optional<size_t> onednn = Find(contenders, "oneDNN");
  const size_t floats = *Find(contenders, kFloats);
  std::vector<int> runs;
  for (const auto& contender : contenders) {
    contender->Time(1);
    runs.push_back(std::max(1, static_cast<int>(kSecondsOfRound / contender->Time(1))));
  }
  std::vector<std::vector<double>> beside_onednn(contenders.size());
  std::vector<std::vector<double>> beside_floats(contenders.size());
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> seconds;
    for (size_t i = 0; i < contenders.size(); ++i) {
      seconds.push_back(contenders[i]->Time(runs[i]));
    }
    least = std::min(least, seconds[floats]);
    for (size_t i = 0; i < seconds.size(); ++i) {
      beside_onednn[i].push_back(onednn ? seconds[*onednn] / seconds[i] : 0);
      beside_floats[i].push_back(seconds[floats] / seconds[i]);
    }
  }
  std::printf("%s, %.1f us in floats\n", title.c_str(), least * 1e6);
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Rate rate = {KindOf(problem), Median(beside_onednn[i]), Median(beside_floats[i])};
    Print(contenders[i]->name(), rate.beside_onednn, rate.beside_floats);
    (*all)[contenders[i]->name()].push_back(rate);
  }
}

double GeometricMean(const std::vector<Rate>& rates, double Rate::*beside) {
  double sum = 0;
  for (const Rate& rate : rates) sum += std::log(rate.*beside);
  return std::exp(sum / static_cast<double>(rates.size()));
}

constexpr const char* kKindNames[kSumsKinds] = {"depthwise", "few products", "some", "many"};

// For each kind of sums, the means beside floats.
void PrintKinds(const Rates& all) {
  std::printf("%-30s", "beside floats");
  for (const char* const name : kKindNames) std::printf(" %12s", name);
  std::printf("\n");
  for (const auto& [name, rates] : all) {
    std::printf("  %-28s", name.c_str());
    for (int kind = 0; kind < kSumsKinds; ++kind) {
      std::vector<Rate> of_kind;
      for (const Rate& rate : rates) {
        if (rate.kind == static_cast<SumsKind>(kind)) of_kind.push_back(rate);
      }
      if (of_kind.empty()) {
        std::printf(" %12s", "-");
      } else {
        std::printf(" %12.2f", GeometricMean(of_kind, &Rate::beside_floats));
      }
    }
    std::printf("\n");
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
  std::printf("%-30s %8s %8s\n", "beside", "oneDNN", "floats");
  Rates all;
  CompareConvolution(1, 6, 1, 5, 28, &all);
  CompareConvolution(1, 32, 1, 5, 28, &all);
  CompareConvolution(128, 128, 128, 3, 56, &all);
  CompareConvolution(512, 512, 512, 3, 14, &all);
  CompareConvolution(240, 240, 240, 5, 28, &all);
  CompareConvolution(1024, 1024, 1024, 3, 7, &all);
  CompareConvolution(32, 64, 1, 1, 112, &all);
  CompareConvolution(64, 128, 1, 1, 56, &all);
  CompareConvolution(128, 128, 1, 1, 28, &all);
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
    Print(name, GeometricMean(rates, &Rate::beside_onednn),
          GeometricMean(rates, &Rate::beside_floats));
  }
  PrintKinds(all);
}

}  // namespace
}  // namespace fixpoint::kernels

int main() { fixpoint::kernels::Main(); }
