// Steps that loop over the same elements become one, with the bits of the steps one by one: those
// of a run that checks for finite numbers, which fuses nothing.

#include "runtime/executor/fusion.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using Names = std::vector<std::string>;

// The steps of a run that fetches variables of ops over x f32[2,3,4,5], y of the same dims, the
// channels c f32[3] and one f32[1].
std::string StepsOf(const std::string& ops, const Names& fetches,
                    const ExecutorOptions& options = {}) {
  const Program program = ParsedProgram(
      absl::StrCat("program version=2006002\nblock 0 {\nvar x f32[2,3,4,5]\nvar y f32[2,3,4,5]\n"
                   "var c f32[3]\nvar one f32[1]\n",
                   ops, "}\n"));
  Scope scope;
  const std::pair<const char*, std::vector<int64_t>> inputs[] = {
      {"x", {2, 3, 4, 5}}, {"y", {2, 3, 4, 5}}, {"c", {3}}, {"one", {1}}};
  for (const auto& [name, dims] : inputs) {
    Tensor tensor = *Tensor::Allocate(VarType::FP32, dims);
    for (float& value : tensor.mutable_data<float>()) value = 0.5f;
    scope.Set(name, std::move(tensor));
  }
  const auto executor = *Executor::Create(program, &scope, options);
  const auto plan = executor->PlanOf({}, fetches);
  if (!plan.ok()) return std::string(plan.status().message());
  return absl::StrJoin((*plan)->steps, "\n", [&](std::string* text, const Step& step) {
    const auto names = [&](const std::vector<Buffer>& buffers) {
      return absl::StrJoin(buffers, ",", [&](std::string* out, Buffer buffer) {
        absl::StrAppend(out, (*plan)->buffers[buffer.index].name);
      });
    };
    absl::StrAppend(text, names(step.reads), " -> ", step.name, " -> ", names(step.writes));
  });
}

TEST(Fusion, MakesOneStepOfAChainAndHoldsNothingBetween) {
  EXPECT_EQ(StepsOf("scale(X=x) -> (Out=a) {scale=2.0}\nelementwise_add(X=a, Y=c) -> (Out=b) "
                    "{axis=1}\nrelu(X=b) -> (Out=d)\nelementwise_mul(X=d, Y=one) -> (Out=out)\n",
                    {"out"}),
            "x,c,one -> scale + elementwise_add + relu + elementwise_mul -> out");
}

TEST(Fusion, HoldsWhatOthersRead) {
  EXPECT_EQ(StepsOf("scale(X=x) -> (Out=a) {scale=2.0}\nrelu(X=a) -> (Out=b)\n"
                    "softmax(X=b) -> (Out=out) {axis=1}\n",
                    {"a", "out"}),
            "x -> scale + relu -> a,b\nb -> softmax -> out");
}

TEST(Fusion, TakesSumsOverAllAndOverChannelsOfWeights) {
  EXPECT_EQ(
      StepsOf("square(X=x) -> (Out=a)\nreduce_sum(X=a) -> (Out=out) {reduce_all=true}\n", {"out"}),
      "x -> square + reduce_sum -> out");
  EXPECT_EQ(StepsOf("abs(X=x) -> (Out=a)\nreduce_max(X=a) -> (Out=out) {dim=[1,2,3]}\n", {"out"}),
            "x -> abs + reduce_max -> out");
  EXPECT_EQ(StepsOf("abs(X=x) -> (Out=a)\nelementwise_mul_grad(X=x, Y=one, Out@GRAD=a) -> "
                    "(X@GRAD=dx, Y@GRAD=dy)\n",
                    {"dx", "dy"}),
            "x,one -> abs + elementwise_mul_grad -> dy,dx");
}

TEST(Fusion, TakesTheStepToCodesOfLoweredPrograms) {
  EXPECT_EQ(StepsOf("gelu(X=x) -> (Out=a)\n"
                    "integer_quantize(X=a) -> (Out=out) {multiplier=63.5, smallest_code=-128, "
                    "out_dtype=21, out_range=2.0, out_largest_code=127}\n",
                    {"out"}),
            "x -> gelu + integer_quantize -> out");
}

TEST(Fusion, TakesRowsOfOneLength) {
  EXPECT_EQ(StepsOf("scale(X=x) -> (Out=a) {scale=0.5}\nsoftmax(X=a) -> (Out=b)\n"
                    "elementwise_add(X=b, Y=c) -> (Out=out) {axis=1}\n",
                    {"out"}),
            "x,c -> scale + softmax + elementwise_add -> out");
  EXPECT_EQ(StepsOf("relu(X=x) -> (Out=a)\n"
                    "layer_norm(X=a) -> (Y=b, Mean=m, Variance=v) {begin_norm_axis=2}\n"
                    "abs(X=b) -> (Out=d)\nsoftmax(X=d) -> (Out=out)\n",
                    {"out"}),
            "x -> relu + layer_norm + abs -> d\nd -> softmax -> out");
  // Sums are not added up in rows.
  EXPECT_EQ(
      StepsOf("softmax(X=x) -> (Out=a)\nreduce_sum(X=a) -> (Out=out) {reduce_all=true}\n", {"out"}),
      "x -> softmax -> a\na -> reduce_sum -> out");
  // Statistics are one for each row.
  EXPECT_EQ(StepsOf("layer_norm(X=x) -> (Y=a, Mean=m, Variance=v) {begin_norm_axis=2}\n"
                    "relu(X=a) -> (Out=out)\n",
                    {"out", "m"}),
            "x -> layer_norm -> a,m,layer_norm.Variance\na -> relu -> out");
}

// What needs a sum waits for all elements; what the group needs comes before.
TEST(Fusion, KeepsTheOrderThatValuesAsk) {
  EXPECT_EQ(StepsOf("abs(X=x) -> (Out=a)\n"
                    "reduce_max(X=a) -> (Out=m) {reduce_all=true}\n"
                    "scale(X=one) -> (Out=s) {scale=3.0}\n"
                    "elementwise_mul(X=a, Y=s) -> (Out=b)\n"
                    "elementwise_div(X=b, Y=m) -> (Out=out)\n",
                    {"out"}),
            "one -> scale -> s\n"
            "x,s -> abs + reduce_max + elementwise_mul -> m,b\n"
            "b,m -> elementwise_div -> out");
}

TEST(Fusion, DoesNotPassAStepThatTouchesMuch) {
  EXPECT_EQ(StepsOf("relu(X=x) -> (Out=a)\nsoftmax(X=y) -> (Out=b) {axis=1}\n"
                    "scale(X=a) -> (Out=c0) {scale=2.0}\n",
                    {"b", "c0"}),
            "x -> relu -> a\ny -> softmax -> b\na -> scale -> c0");
}

TEST(Fusion, IsNotForRunsThatCheckEachValue) {
  ExecutorOptions options;
  options.check_finite = true;
  EXPECT_EQ(
      StepsOf("scale(X=x) -> (Out=a) {scale=2.0}\nrelu(X=a) -> (Out=out)\n", {"out"}, options),
      "x -> scale -> a\na -> relu -> out");
}

TEST(Fusion, UpdatesAVariableInPlace) {
  const Program program = ParsedProgram(
      "program version=2006002\nblock 0 {\nvar w f32[3] persistable\n"
      "scale(X=w) -> (Out=a) {scale=2.0}\nelementwise_add(X=a, Y=w) -> (Out=w)\n"
      "relu(X=w) -> (Out=out)\n}\n");
  Scope scope = *ParseParameters("w f32[3] 1 -2 3\n", "scope");
  const auto executor = *Executor::Create(program, &scope);
  for (const std::vector<float>& expected :
       std::vector<std::vector<float>>{{3, 0, 9}, {9, 0, 27}}) {
    const auto run = executor->Run({}, {"out"}, 0);
    ASSERT_TRUE(run.ok()) << run.status();
    const absl::Span<const float> out = run->front().data<float>();
    EXPECT_EQ(std::vector<float>(out.begin(), out.end()), expected);
  }
}

// Random ops over images and what broadcasts to them.
class RandomOps {
 public:
  explicit RandomOps(uint64_t seed) : random_(seed, 0, 0) {}

  std::string Text() {
    std::string text;
    const int count = 3 + Below(12);
    for (int i = 0; i < count; ++i) absl::StrAppend(&text, Op(), "\n");
    return text;
  }
  // Some of what is written.
  Names Fetches() {
    Names fetches = {full_.back()};
    for (const Names* names : {&full_, &channels_, &ones_, &results_}) {
      for (const std::string& name : *names) {
        if (Below(4) == 0 && name != fetches.front()) fetches.push_back(name);
      }
    }
    return fetches;
  }

 private:
  int Below(int end) { return static_cast<int>(random_.Uniform(drawn_++) * end); }
  const std::string& Any(const Names& names) {
    return names[Below(static_cast<int>(names.size()))];
  }
  std::string New(Names* names) {
    names->push_back(absl::StrCat("v", next_++));
    return names->back();
  }

  std::string Op() {
    const std::string x = Any(full_);
    const std::string other = Any(full_);
    const std::string beside[] = {
        absl::StrCat("Y=", Any(channels_), "|{axis=1}"),
        absl::StrCat("Y=", Any(ones_), "|{axis=-1}"), absl::StrCat("Y=", Any(rows_), "|{axis=0}"),
        absl::StrCat("Y=", Any(columns_), "|{axis=-1}"), absl::StrCat("Y=", other, "|{axis=-1}")};
    const std::string& chosen = beside[Below(5)];
    const std::string y = chosen.substr(0, chosen.find('|'));
    const std::string axis = chosen.substr(chosen.find('|') + 1);
    static constexpr const char* kUnary[] = {"relu", "abs", "tanh", "square", "round", "sign"};
    static constexpr const char* kBinary[] = {"add", "sub", "mul", "div", "max", "min"};
    switch (Below(11)) {
      case 0:
        return absl::Substitute("$0(X=$1) -> (Out=$2)", kUnary[Below(6)], x, New(&full_));
      case 1:
        return absl::Substitute("scale(X=$0) -> (Out=$1) {scale=0.7, bias=0.2}", x, New(&full_));
      case 2:
        return absl::Substitute("clip(X=$0) -> (Out=$1) {min=-0.5, max=0.75}", x, New(&full_));
      case 3:
        return absl::Substitute("elementwise_$0(X=$1, $2) -> (Out=$3) $4", kBinary[Below(6)], x, y,
                                New(&full_), axis);
      case 4:
        return absl::Substitute("sum(X=[$0, $1, $0]) -> (Out=$2)", x, other, New(&full_));
      case 5:
        return absl::Substitute(
            "elementwise_$0_grad(X=$1, $2, Out@GRAD=$3) -> (X@GRAD=$4, Y@GRAD=$5) $6",
            kBinary[Below(6)], x, y, other, New(&full_), New(&results_), axis);
      case 6:
        return absl::Substitute("reduce_$0(X=$1) -> (Out=$2) {reduce_all=true, dim=[0]}",
                                Below(2) == 0 ? "mean" : "max", x, New(&ones_));
      case 7:
        return absl::Substitute("reduce_sum(X=$0) -> (Out=$1) {dim=[$2]}", x, New(&results_),
                                Below(2) == 0 ? "1,2,3" : "0,2,3");
      case 8:
        return absl::Substitute("softmax(X=$0) -> (Out=$1)", x, New(&full_));
      case 9:
        return absl::Substitute(
            "layer_norm(X=$0, Scale=$1) -> (Y=$2, Mean=$2m, Variance=$2v) {begin_norm_axis=3}", x,
            Any(columns_), New(&full_));
      default:
        return absl::Substitute(
            "less_than(X=$0, Y=$1) -> (Out=$2c)\nwhere(Condition=$2c, X=$1, Y=$0) -> (Out=$2)", x,
            other, New(&full_));
    }
  }

  const RandomStream random_;
  uint64_t drawn_ = 0;
  int next_ = 0;
  Names full_ = {"x", "y"};
  Names channels_ = {"c"};
  Names ones_ = {"one"};
  Names rows_ = {"r"};
  Names columns_ = {"w"};
  Names results_;
};

struct Shape {
  const char* name;
  std::vector<int64_t> dims;
};

class RandomChains : public testing::TestWithParam<Shape> {};

TEST_P(RandomChains, HaveTheBitsOfStepsOneByOne) {
  const std::vector<int64_t>& dims = GetParam().dims;
  const std::pair<const char*, std::vector<int64_t>> inputs[] = {
      {"x", dims}, {"y", dims}, {"c", {dims[1]}}, {"one", {1}}, {"r", {dims[0]}}, {"w", {dims[3]}}};
  int compared = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomOps ops(seed);
    const std::string text = ops.Text();
    const Names fetches = ops.Fetches();
    const Program program =
        ParsedProgram(absl::StrCat("program version=2006002\nblock 0 {\n", text, "}\n"));
    Scope scope;
    for (const auto& [name, of_input] : inputs) {
      Tensor tensor = *Tensor::Allocate(VarType::FP32, of_input);
      const RandomStream random(seed, *name, 1);
      uint64_t i = 0;
      for (float& value : tensor.mutable_data<float>()) {
        value = static_cast<float>(random.Uniform(i++)) + 0.25f;
      }
      scope.Set(name, std::move(tensor));
    }
    ExecutorOptions one_by_one;
    one_by_one.check_finite = true;
    const auto expected = (*Executor::Create(program, &scope, one_by_one))->Run({}, fetches, 0);
    if (!expected.ok()) continue;  // a number that is not finite
    ++compared;
    for (const int threads : {1, 3}) {
      ExecutorOptions options;
      options.threads = threads;
      const auto fused = (*Executor::Create(program, &scope, options))->Run({}, fetches, 0);
      ASSERT_TRUE(fused.ok()) << fused.status() << "\n" << text;
      for (size_t i = 0; i < fetches.size(); ++i) {
        ASSERT_EQ((*fused)[i].bytes(), (*expected)[i].bytes())
            << fetches[i] << " on " << threads << " threads, seed " << seed << ":\n"
            << text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, RandomChains,
    testing::Values(Shape{"Small", {2, 3, 4, 5}}, Shape{"OneChannel", {3, 1, 5, 7}},
                    Shape{"OneImage", {1, 5, 33, 3}}, Shape{"ShortRuns", {70, 3, 1, 3}},
                    Shape{"LongRuns", {3, 2, 61, 47}}, Shape{"SeveralPieces", {4, 3, 101, 203}},
                    Shape{"OneElement", {1, 1, 1, 1}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint::executor
