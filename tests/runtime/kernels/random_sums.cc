#include "tests/runtime/kernels/random_sums.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/fixed_point.h"
#include "ops/sums_of_codes.h"
#include "tests/runtime/kernels/convolution_cases.h"
#include "tests/testing/random_program.h"

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;

constexpr int kMostDraws = 20'000;
// Products in all, so that plain loops take about a millisecond.
constexpr int64_t kMostProducts = 600'000;
// One seed in so many has more of them, so that all kernels share them out among threads, if
// kernels are wanted that compute so large problems.
constexpr uint64_t kSeedsOfALarge = 15;
constexpr int kMostDrawsOfLarge = 2'000;
constexpr int64_t kLeastLarge = 2'000'000;
constexpr int64_t kMostLarge = 4'000'000;

// 0: there is no such problem.
int64_t ProductsOf(SumsProblem* problem) {
  if (auto* const shape = std::get_if<ConvolutionShape>(&problem->shape)) {
    return CompleteShape(shape).ok() ? shape->output_size() * problem->products() : 0;
  }
  return problem->product()->out_size() * problem->products();
}

class Drawing {
 public:
  explicit Drawing(uint64_t seed) : random_(seed) {}

  SumsProblem Problem() {
    SumsProblem problem = {Product(), Coding(), {}, Output()};
    if (!random_.OneIn(3)) problem.shape = Convolution();
    problem.epilogue = Stages(problem.output);
    return problem;
  }

  // The problem with more rows or images, as many as a large one has.
  void Enlarge(SumsProblem* problem, int64_t products) {
    const int factor = Between(static_cast<int>(kLeastLarge / products) + 1,
                               static_cast<int>(kMostLarge / products));
    if (auto* const shape = std::get_if<ConvolutionShape>(&problem->shape)) {
      (random_.OneIn(2) ? shape->height : shape->batch) *= factor;
    } else {
      std::get<ProductShape>(problem->shape).rows *= factor;
    }
  }

  RandomSums Operands(const SumsProblem& problem, bool is_large) {
    RandomSums drawn(problem);
    const auto* const convolution = problem.convolution();
    const auto* const product = problem.product();
    const SumCoding& coding = problem.coding;
    drawn.inputs.resize(convolution != nullptr ? convolution->input_size() : product->x_size());
    drawn.weights.resize(convolution != nullptr ? convolution->filter_size() : product->y_size());
    Fill(drawn.inputs.data(), drawn.inputs.size(), Style());
    Fill(reinterpret_cast<uint8_t*>(drawn.weights.data()), drawn.weights.size(), Style());
    if (coding.inputs.has_zero_point) drawn.zero_point = Code(coding.inputs.type);
    for (int64_t c = 0; c < drawn.channels(); ++c) {
      drawn.scales.push_back(std::ldexp(Number(0.5f, 1), -Between(4, 18)));
      if (coding.has_bias) drawn.bias.push_back(Bias(problem));
      if (coding.has_weight_zero_points) {
        drawn.weight_zero_points.push_back(Code(CodeType::kInt8));
      }
    }
    if (!problem.epilogue.empty() && problem.epilogue.front().kind == Kind::kRequantize) {
      std::fill(drawn.scales.begin(), drawn.scales.end(), 1.0f);
    }
    for (const EpilogueStage& stage : problem.epilogue) {
      std::vector<float>& operand = drawn.operands.emplace_back();
      if (stage.is_of_channels()) operand.resize(drawn.channels());
      if (stage.kind == Kind::kAddElement) operand.resize(drawn.out_size());
      for (float& number : operand) {
        number = stage.kind == Kind::kRequantize
                     ? RequantizationFactor(std::ldexp(Number(0.5f, 1), -Between(0, 14)), 1, 32)
                     : Number(-3, 3);
      }
    }
    drawn.added.resize(drawn.out_size());
    Fill(drawn.added.data(), drawn.added.size(), 0);
    drawn.threads = is_large || random_.OneIn(3) ? Between(2, 3) : 1;
    return drawn;
  }

 private:
  // Both ends are included.
  int Between(int low, int high) { return low + random_.Below(high - low + 1); }
  float Number(float low, float high) {
    return low + (high - low) * static_cast<float>(random_.Below(1 << 20)) / (1 << 20);
  }

  ProductShape Product() {
    ProductShape shape;
    shape.batch = random_.OneIn(4) ? Between(2, 3) : 1;
    shape.rows = random_.OneIn(3) ? 1 : Between(1, 40);
    shape.inner = random_.OneIn(4) ? Between(500, 1500) : Between(1, 300);
    shape.columns = Between(1, 70);
    shape.transpose_x = random_.OneIn(6);
    shape.transpose_y = random_.OneIn(2);
    return shape;
  }

  WindowAxis Axis(int most_kernel, bool is_plain) {
    const int kernel = Between(1, most_kernel);
    if (is_plain) return {kernel, 1, 1, kernel / 2, kernel / 2};
    return {kernel, Between(1, 3), Between(1, 2), Between(0, kernel), Between(0, kernel)};
  }

  ConvolutionShape Convolution() {
    ConvolutionShape shape;
    shape.batch = Between(1, 2);
    shape.height = Between(1, 14);
    shape.width = Between(1, 20);
    int most_kernel = 5;
    switch (random_.Below(5)) {
      case 0:
        shape.channels = 1;
        shape.filters = Between(1, 40);
        most_kernel = 7;
        break;
      case 1:
        shape.channels = shape.filters = shape.groups = Between(1, 70);
        break;
      case 2:
        shape.groups = Between(2, 4);
        shape.channels = shape.groups * Between(1, 12);
        shape.filters = shape.groups * Between(1, 20);
        break;
      case 3:
        // Where there are tiles.
        shape.channels = Between(3, 70);
        shape.filters = random_.OneIn(2) ? 16 * Between(1, 4) : Between(1, 70);
        shape.width = Between(1, 3) * (random_.OneIn(2) ? 7 : 8);
        most_kernel = 3;
        break;
      default:
        shape.channels = Between(1, 140);
        shape.filters = Between(1, 70);
        most_kernel = random_.OneIn(2) ? 1 : 3;
    }
    const bool is_plain = random_.OneIn(2);
    shape.window = {Axis(most_kernel, is_plain), Axis(most_kernel, is_plain)};
    return shape;
  }

  SumCoding Coding() {
    SumCoding coding =
        InputCoding(random_.OneIn(2) ? CodeType::kUint8 : CodeType::kInt8, random_.OneIn(3));
    if (random_.OneIn(2)) coding = coding.WithBias();
    if (random_.OneIn(5)) coding = coding.WithWeightZeroPoints();
    return coding;
  }

  OutputType Output() {
    return random_.OneOf(
        std::vector<OutputType>{OutputType::kFloat, OutputType::kUint8, OutputType::kInt8});
  }

  // Half of them as convolutions mostly have them.
  Epilogue Stages(OutputType output) {
    if (random_.OneIn(4)) return {};
    if (random_.OneIn(2)) {
      Epilogue stages = {{Kind::kRelu}, {Kind::kMultiply, Number(0.01f, 2)}};
      if (random_.OneIn(2)) stages.insert(stages.begin(), {Kind::kAddChannel});
      if (random_.OneIn(2)) stages.insert(stages.begin(), {Kind::kMultiplyChannel});
      return stages;
    }
    Epilogue stages;
    if (random_.OneIn(5)) {
      stages.push_back({Kind::kRequantize, static_cast<float>(Between(1, 2))});
    }
    for (int i = Between(1, 5); i > 0; --i) stages.push_back(Stage(output));
    return stages;
  }

  EpilogueStage Stage(OutputType output) {
    switch (random_.Below(output == OutputType::kFloat ? 10 : 11)) {
      case 0:
        return {Kind::kAddChannel};
      case 1:
        return {Kind::kMultiplyChannel};
      case 2:
        return {Kind::kAddElement};
      case 3:
        return {Kind::kMultiply, Number(-2, 20)};
      case 4:
        return {Kind::kAdd, Number(-9, 9)};
      case 5:
        return {Kind::kRound};
      case 6:
        return {Kind::kRelu};
      case 7:
        return {Kind::kLeakyRelu, Number(0, 0.5f)};
      case 8:
        return {Kind::kHardSwish, 1 / 6.0f, 0.5f};
      case 9:
        return {Kind::kClip, Number(-100, 0), Number(0, 100)};
      default:
        return EpilogueStage::AddCodes(output == OutputType::kUint8, Number(0.01f, 1),
                                       static_cast<float>(Between(0, 100)));
    }
  }

  // Any codes; with most of them 0; the ends of the types; all the same end.
  int Style() { return random_.Below(5); }
  void Fill(uint8_t* codes, size_t count, int style) {
    constexpr uint8_t kEnds[] = {0, 255, 127, 128, 129, 64, 65, 192, 1};
    const uint8_t end = kEnds[random_.Below(4)];
    for (size_t i = 0; i < count; ++i) {
      const auto any = static_cast<uint8_t>(random_.Below(256));
      switch (style) {
        case 0:
        case 1:
          codes[i] = any;
          break;
        case 2:
          codes[i] = any < 200 ? 0 : any;
          break;
        case 3:
          codes[i] = kEnds[any % std::size(kEnds)];
          break;
        default:
          codes[i] = end;
      }
    }
  }
  int32_t Code(CodeType type) {
    uint8_t code;
    Fill(&code, 1, Style());
    return type == CodeType::kUint8 ? code : static_cast<int8_t>(code);
  }

  // What IntegerSums takes: beside weights with zero points, what 32 bits hold; else what floats
  // do.
  int32_t Bias(const SumsProblem& problem) {
    const int64_t largest =
        problem.coding.has_weight_zero_points
            ? std::min<int64_t>(problem.coding.Sum(problem.products()).largest_bias(),
                                kLargestBiasCode)
            : kLargestBiasCode;
    if (random_.OneIn(4)) return static_cast<int32_t>(random_.OneIn(2) ? largest : -largest);
    const double part = std::ldexp(Number(-1, 1), -random_.Below(24));
    return static_cast<int32_t>(static_cast<float>(part * static_cast<double>(largest)));
  }

  Random random_;
};

}  // namespace

int64_t RandomSums::channels() const {
  return problem.convolution() != nullptr ? problem.convolution()->filters
                                          : problem.product()->columns;
}

int64_t RandomSums::out_size() const {
  return problem.convolution() != nullptr ? problem.convolution()->output_size()
                                          : problem.product()->out_size();
}

std::string RandomSums::Text() const {
  std::string text;
  if (const ConvolutionShape* const shape = problem.convolution()) {
    absl::StrAppend(&text, "a convolution of ", shape->batch, "x", shape->height, "x", shape->width,
                    "x", shape->channels, ", ", shape->filters, " filters, ", shape->groups,
                    " groups, windows of");
    for (const WindowAxis& axis : shape->window) {
      absl::StrAppend(&text, " ", axis.kernel, " (stride ", axis.stride, ", dilation ",
                      axis.dilation, ", padding ", axis.pad_before, " and ", axis.pad_after, ")");
    }
  } else {
    const ProductShape& product = *problem.product();
    absl::StrAppend(&text, "a product of ", product.batch, " times ", product.rows, "x",
                    product.inner, " and ", product.columns, " columns",
                    product.transpose_x ? ", x transposed" : "",
                    product.transpose_y ? ", y transposed" : "");
  }
  absl::StrAppend(&text, ", ", problem.coding.inputs.type == CodeType::kUint8 ? "u8" : "s8",
                  problem.coding.inputs.has_zero_point ? absl::StrCat(" less ", zero_point) : "",
                  bias.empty() ? "" : ", with a bias",
                  weight_zero_points.empty() ? "" : ", weights with zero points", ", ", threads,
                  " threads, stages:");
  for (const EpilogueStage& stage : problem.epilogue) {
    absl::StrAppend(&text, " ", StageName(stage.kind), " ", stage.a, " ", stage.b);
  }
  return absl::StrCat(text, problem.output == OutputType::kFloat   ? ", to floats"
                            : problem.output == OutputType::kUint8 ? ", to u8"
                                                                   : ", to s8");
}

std::optional<RandomSums> DrawSums(uint64_t seed,
                                   const std::function<bool(const SumsProblem&)>& is_wanted) {
  Drawing drawing(seed);
  for (int i = 0; i < kMostDraws; ++i) {
    SumsProblem problem = drawing.Problem();
    int64_t products = ProductsOf(&problem);
    if (products == 0 || products > kMostProducts) continue;
    const bool is_large = seed % kSeedsOfALarge == 0 && i < kMostDrawsOfLarge;
    if (is_large) {
      // Not of so few that the rest of the work is most of it.
      if (products < kLeastLarge / 100) continue;
      drawing.Enlarge(&problem, products);
      products = ProductsOf(&problem);
      if (products < kLeastLarge || products > kMostLarge) continue;
    }
    if (CheckSums("sums", problem.products(), problem.coding).ok() && is_wanted(problem)) {
      return drawing.Operands(problem, is_large);
    }
  }
  return std::nullopt;
}

std::vector<int64_t> PlainSumsOf(const RandomSums& drawn) {
  const SumsProblem& problem = drawn.problem;
  const int64_t channels = drawn.channels();
  std::vector<int64_t> sums(drawn.out_size(), 0);
  const auto add = [&](int64_t out, int64_t x, int64_t weight) {
    const uint8_t byte = drawn.inputs[x];
    const int64_t input = problem.coding.inputs.type == CodeType::kUint8
                              ? int64_t{byte}
                              : int64_t{static_cast<int8_t>(byte)};
    const int64_t zero =
        drawn.weight_zero_points.empty() ? 0 : drawn.weight_zero_points[out % channels];
    sums[out] += (input - drawn.zero_point) * (drawn.weights[weight] - zero);
  };
  if (const ConvolutionShape* const shape = problem.convolution()) {
    ForEachTap(*shape, add);
  } else {
    const ProductShape& s = *problem.product();
    for (int64_t out = 0; out < s.out_size(); ++out) {
      const int64_t column = out % s.columns;
      const int64_t row = out / s.columns % s.rows;
      const int64_t matrix = out / s.columns / s.rows;
      for (int64_t k = 0; k < s.inner; ++k) {
        add(out, matrix * s.rows * s.inner + (s.transpose_x ? k * s.rows + row : row * s.inner + k),
            matrix * s.inner * s.columns +
                (s.transpose_y ? column * s.inner + k : k * s.columns + column));
      }
    }
  }
  for (size_t i = 0; i < sums.size() && !drawn.bias.empty(); ++i) {
    sums[i] += drawn.bias[i % channels];
  }
  return sums;
}

}  // namespace fixpoint::kernels
