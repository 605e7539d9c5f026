// What codes stand for is added by one fma, wherever the plan holds them as codes, and by a
// multiplication, a division and an addition elsewhere.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

constexpr int64_t kRows = 7;
constexpr int64_t kColumns = 1000;
constexpr int64_t kSize = kRows * kColumns;

// What is added, and the codes and numbers that are: all of them elements of [7, 1000].
struct Sum {
  const char* name;
  const char* ops;  // after those that quantize r, of both signs, and p, which is not negative
  float (*element)(float x, float r_code, float r_range, float p_code, float p_range);
};

float Dequantized(float code, float range) { return code * range / 127; }

const Sum kSums[] = {
    {"Y", "elementwise_add(X=x, Y=rd) -> (Out=out)\n",
     [](float x, float r, float r_range, float, float) { return std::fma(r, r_range / 127, x); }},
    {"X", "elementwise_add(X=rd, Y=x) -> (Out=out)\n",
     [](float x, float r, float r_range, float, float) { return std::fma(r, r_range / 127, x); }},
    {"UnsignedCodes", "elementwise_add(X=pd, Y=x) -> (Out=out)\n",
     [](float x, float, float, float p, float p_range) { return std::fma(p, p_range / 255, x); }},
    {"YOfBoth", "elementwise_add(X=rd, Y=pd) -> (Out=out)\n",
     [](float, float r, float r_range, float p, float p_range) {
       return std::fma(p, p_range / 255, Dequantized(r, r_range));
     }},
    {"ReluAfter", "elementwise_add(X=x, Y=rd) -> (Out=sum)\nrelu(X=sum) -> (Out=out)\n",
     [](float x, float r, float r_range, float, float) {
       return std::fmax(std::fma(r, r_range / 127, x), 0.0f);
     }},
    {"ReluWhoseInputIsRead",
     "elementwise_add(X=x, Y=rd) -> (Out=sum)\nrelu(X=sum) -> (Out=positive)\n"
     "elementwise_add(X=positive, Y=sum) -> (Out=out)\n",
     [](float x, float r, float r_range, float, float) {
       const float sum = std::fma(r, r_range / 127, x);
       return std::fmax(sum, 0.0f) + sum;
     }},
    // The program does not say that the shapes are equal.
    {"WhatIsNotDeclared",
     "fake_dequantize_max_abs(X=rq, Scale=rr) -> (Out=undeclared) {max_range=127.0}\n"
     "elementwise_add(X=x, Y=undeclared) -> (Out=out)\n",
     [](float x, float r, float r_range, float, float) { return x + Dequantized(r, r_range); }},
    {"Difference", "elementwise_sub(X=x, Y=rd) -> (Out=out)\n",
     [](float x, float r, float r_range, float, float) { return x - Dequantized(r, r_range); }},
};

class SumsWithCodes : public testing::TestWithParam<Sum> {};

TEST_P(SumsWithCodes, RoundOnce) {
  const Program program = ParsedProgram(absl::StrCat(
      "program version=2006002\nblock 0 {\n"
      "var x f32[-1,1000]\nvar rd f32[-1,1000]\nvar pd f32[-1,1000]\n"
      "fake_quantize_abs_max(X=r) -> (Out=rq, OutScale=rr) {bit_length=8, round_type=0}\n"
      "fake_dequantize_max_abs(X=rq, Scale=rr) -> (Out=rd) {max_range=127.0}\n"
      "relu(X=r) -> (Out=p)\n"
      "fake_quantize_abs_max(X=p) -> (Out=pq, OutScale=pr) {bit_length=9, round_type=0}\n"
      "fake_dequantize_max_abs(X=pq, Scale=pr) -> (Out=pd) {max_range=255.0}\n",
      GetParam().ops, "}\n"));
  Scope scope;
  for (const char* name : {"x", "r"}) {
    Tensor tensor = *Tensor::Allocate(VarType::FP32, {kRows, kColumns});
    const RandomStream random(1, *name, 0);
    for (int64_t i = 0; i < kSize; ++i) {
      tensor.mutable_data<float>()[i] = static_cast<float>(random.Normal(i));
    }
    scope.Set(name, std::move(tensor));
  }
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const auto codes = (*executor)->Run({}, {"rq", "rr", "pq", "pr"}, 0);
  const auto sums = (*executor)->Run({}, {"out"}, 0);
  ASSERT_TRUE(codes.ok() && sums.ok()) << codes.status() << sums.status();
  const auto numbers = [&codes](int i) { return (*codes)[i].data<float>(); };
  const absl::Span<const float> x = std::get<Tensor>(*scope.FindOrNull("x")).data<float>();
  for (int64_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(sums->front().data<float>()[i],
              GetParam().element(x[i], numbers(0)[i], numbers(1)[0], numbers(2)[i], numbers(3)[0]))
        << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sums, SumsWithCodes, testing::ValuesIn(kSums),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint::executor
