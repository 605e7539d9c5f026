// Components of recurrent layers and of their units compute what the layers' formulas say.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/composites/expanded_programs.h"

namespace fixpoint {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::string RnnProgram(const std::string& mode, int gates, bool both_ways) {
  const int directions = both_ways ? 2 : 1;
  std::string text = absl::StrCat("program version=2006002\nblock 0 {\n  var x f32[3,2,2]\n");
  std::vector<std::string> weights;
  for (int d = 0; d < directions; ++d) {
    absl::StrAppend(&text, "  var wi", d, " f32[", gates * 2, ",2] persistable\n  var wh", d,
                    " f32[", gates * 2, ",2] persistable\n");
    absl::StrAppend(&text, "  var bi", d, " f32[", gates * 2, "] persistable\n  var bh", d, " f32[",
                    gates * 2, "] persistable\n");
  }
  absl::StrAppend(&text, "  var h0 f32[", directions, ",2,2]\n  var c0 f32[", directions,
                  ",2,2]\n  var y f32[3,2,", 2 * directions, "]\n  var h f32[", directions,
                  ",2,2]\n  var c f32[", directions, ",2,2]\n  var r f32[]\n");
  const bool is_lstm = mode == "LSTM";
  absl::StrAppend(&text, "  rnn(Input=x, PreState=[h0", is_lstm ? ", c0" : "", "], WeightList=[",
                  both_ways ? "wi0, wh0, wi1, wh1, bi0, bh0, bi1, bh1" : "wi0, wh0, bi0, bh0",
                  "]) -> (Out=y, Reserve=r, State=[h", is_lstm ? ", c" : "", "]) {mode=\"", mode,
                  "\", is_bidirec=", both_ways ? "true" : "false",
                  ", hidden_size=2, input_size=2, is_test=true}\n}\n");
  return text;
}

// One direction of one layer for inputs of 2 and states of 2, as the reference defines it:
// WeightList [gates * 2, 2], blocks i, f, g, o of an LSTM and r, z, n of a GRU.
std::vector<float> Recur(const std::string& mode, int gates, bool backward, const Tensor& x,
                         const Tensor& wi, const Tensor& wh, const Tensor& bi, const Tensor& bh,
                         const Tensor& h0, const Tensor& c0) {
  std::vector<float> out(12);
  const int first_state = backward ? 4 : 0;
  for (int n = 0; n < 2; ++n) {
    double h[2];
    double c[2];
    for (int j = 0; j < 2; ++j) {
      h[j] = h0.data<float>()[first_state + n * 2 + j];
      c[j] = c0.data<float>()[first_state + n * 2 + j];
    }
    for (int step = 0; step < 3; ++step) {
      const int t = backward ? 2 - step : step;
      std::vector<double> input(gates * 2);
      std::vector<double> state(gates * 2);
      for (int k = 0; k < gates * 2; ++k) {
        input[k] = bi.data<float>()[k];
        state[k] = bh.data<float>()[k];
        for (int j = 0; j < 2; ++j) {
          input[k] += x.data<float>()[(t * 2 + n) * 2 + j] * wi.data<float>()[k * 2 + j];
          state[k] += h[j] * wh.data<float>()[k * 2 + j];
        }
      }
      for (int j = 0; j < 2; ++j) {
        const auto sum = [&](int gate) { return input[gate * 2 + j] + state[gate * 2 + j]; };
        if (mode == "LSTM") {
          c[j] = Sigmoid(sum(1)) * c[j] + Sigmoid(sum(0)) * std::tanh(sum(2));
          h[j] = Sigmoid(sum(3)) * std::tanh(c[j]);
        } else if (mode == "GRU") {
          const double candidate = std::tanh(input[4 + j] + Sigmoid(sum(0)) * state[4 + j]);
          h[j] = Sigmoid(sum(1)) * h[j] + (1 - Sigmoid(sum(1))) * candidate;
        } else {
          h[j] = mode == "RNN_TANH" ? std::tanh(sum(0)) : std::max(0.0, sum(0));
        }
        out[(t * 2 + n) * 2 + j] = static_cast<float>(h[j]);
      }
    }
  }
  return out;
}

TEST(RecurrentComponents, RecurrentLayersAreTheirFormulas) {
  for (const auto& [mode, gates] : std::vector<std::pair<std::string, int>>{
           {"LSTM", 4}, {"GRU", 3}, {"RNN_TANH", 1}, {"RNN_RELU", 1}}) {
    for (const bool both_ways : {false, true}) {
      SCOPED_TRACE(absl::StrCat(mode, both_ways ? ", both ways" : ""));
      Program program = ParsedProgram(RnnProgram(mode, gates, both_ways));
      Program expanded = Expanded(program);
      const int directions = both_ways ? 2 : 1;
      std::vector<std::pair<std::string, std::vector<int64_t>>> values = {
          {"x", {3, 2, 2}}, {"h0", {directions, 2, 2}}, {"c0", {directions, 2, 2}}};
      for (int d = 0; d < directions; ++d) {
        values.push_back({absl::StrCat("wi", d), {gates * 2, 2}});
        values.push_back({absl::StrCat("wh", d), {gates * 2, 2}});
        values.push_back({absl::StrCat("bi", d), {gates * 2}});
        values.push_back({absl::StrCat("bh", d), {gates * 2}});
      }
      const std::vector<float> y = Fetched(expanded, "y", values);
      const auto value = [&](int i) { return Numbers(values[i].second, i + 1); };
      for (int d = 0; d < directions; ++d) {
        const int first = 3 + 4 * d;
        const std::vector<float> wanted =
            Recur(mode, gates, d == 1, value(0), value(first), value(first + 1), value(first + 2),
                  value(first + 3), value(1), value(2));
        std::vector<float> got;
        for (int row = 0; row < 6; ++row) {
          for (int j = 0; j < 2; ++j) got.push_back(y[(row * directions + d) * 2 + j]);
        }
        ExpectNear(got, wanted);
      }
    }
  }
}

// A step of an LSTM for X [2,8], blocks i, f, o and g, with a state of 2 numbers.
TEST(RecurrentComponents, AnLstmUnitIsItsFormula) {
  for (const double forget_bias : {0.0, 0.5}) {
    Program program =
        ParsedProgram(absl::StrCat(R"(program version=1008005
block 0 {
  var x f32[2,8]
  var before f32[2,2]
  var c f32[2,2]
  var h f32[2,2]
  lstm_unit(C_prev=before, X=x) -> (C=c, H=h) {forget_bias=)",
                                   forget_bias, forget_bias == 0 ? ".0}\n}\n" : "}\n}\n"));
    program = Expanded(program);
    const Tensor x = Numbers({2, 8}, 1, 3);
    const Tensor before = Numbers({2, 2}, 2);
    std::vector<float> cell;
    std::vector<float> hidden;
    for (int k = 0; k < 4; ++k) {
      const auto sum = [&](int block) { return x.data<float>()[k / 2 * 8 + block * 2 + k % 2]; };
      const double c = Sigmoid(sum(1) + forget_bias) * before.data<float>()[k] +
                       Sigmoid(sum(0)) * std::tanh(sum(3));
      cell.push_back(static_cast<float>(c));
      hidden.push_back(static_cast<float>(Sigmoid(sum(2)) * std::tanh(c)));
    }
    const std::vector<NamedTensor> values = {{"x", &x}, {"before", &before}};
    ExpectNear(Fetched(program, "c", values), cell);
    ExpectNear(Fetched(program, "h", values), hidden);
  }
}

// A step of a GRU for Input [2,6], blocks u, r and c, with a state of 2 numbers. Weight is [2,4]
// for u and r, and then [2,2] for c.
TEST(RecurrentComponents, AGruUnitIsItsFormula) {
  for (const bool keeps : {false, true}) {
    for (const bool has_bias : {false, true}) {
      SCOPED_TRACE(absl::StrCat(keeps ? "origin_mode" : "", has_bias ? ", bias" : ""));
      Program program = ParsedProgram(
          absl::StrCat(R"(program version=1008005
block 0 {
  var x f32[2,6]
  var before f32[2,2]
  var w f32[2,6] persistable
  var b f32[1,6] persistable
  var gate f32[2,6]
  var reset f32[2,2]
  var h f32[2,2]
  gru_unit()",
                       has_bias ? "Bias=b, " : "",
                       "HiddenPrev=before, Input=x, Weight=w) -> (Gate=gate, Hidden=h, "
                       "ResetHiddenPrev=reset) {activation=3, origin_mode=",
                       keeps ? "true}\n}\n" : "false}\n}\n"));
      program = Expanded(program);
      const Tensor x = Numbers({2, 6}, 1);
      const Tensor before = Numbers({2, 2}, 2);
      const Tensor w = Numbers({2, 6}, 3);
      const Tensor b = Numbers({1, 6}, 4);
      std::vector<float> wanted;
      for (int n = 0; n < 2; ++n) {
        const float* const h = before.data<float>().data() + n * 2;
        const auto input = [&](int k) {
          return x.data<float>()[n * 6 + k] + (has_bias ? b.data<float>()[k] : 0);
        };
        const auto gate = [&](int k) {
          return Sigmoid(input(k) + h[0] * w.data<float>()[k] + h[1] * w.data<float>()[4 + k]);
        };
        for (int j = 0; j < 2; ++j) {
          const double sum = input(4 + j) + gate(2) * h[0] * w.data<float>()[8 + j] +
                             gate(3) * h[1] * w.data<float>()[10 + j];
          const double candidate = std::max(0.0, sum);
          const double update = keeps ? 1 - gate(j) : gate(j);
          wanted.push_back(static_cast<float>((1 - update) * h[j] + update * candidate));
        }
      }
      ExpectNear(Fetched(program, "h", {{"x", &x}, {"before", &before}, {"w", &w}, {"b", &b}}),
                 wanted);
    }
  }
}

// A loop over steps whose number a run knows.
TEST(RecurrentComponents, AUnitInALoopIsExpandedThere) {
  Program program = ParsedProgram(R"(program version=1008005
block 0 {
  var x f32[2,8]
  var c f32[2,2]
  var h f32[2,2]
  var step i64[1]
  var steps i64[1]
  var goes_on bool[1]
  var scopes step_scopes
  fill_constant() -> (Out=step) {shape=[1], dtype=3, value=0.0}
  fill_constant() -> (Out=steps) {shape=[1], dtype=3, value=3.0}
  less_than(X=step, Y=steps) -> (Out=goes_on)
  while(Condition=goes_on, X=[x, c, step, steps]) -> (Out=[c, h, step, goes_on], StepScopes=scopes) {sub_block=block(1)}
}
block 1 parent=0 {
  var n f32[2,2]
  lstm_unit(C_prev=c, X=x) -> (C=n, H=h)
  assign(X=n) -> (Out=c)
  increment(X=step) -> (Out=step) {step=1.0}
  less_than(X=step, Y=steps) -> (Out=goes_on)
}
)");
  const std::string original = Bytes(program);
  program = Expanded(program);
  const Tensor x = Numbers({2, 8}, 1, 3);
  const Tensor before = Numbers({2, 2}, 2);
  std::vector<float> hidden;
  for (int k = 0; k < 4; ++k) {
    const auto sum = [&](int block) { return x.data<float>()[k / 2 * 8 + block * 2 + k % 2]; };
    double c = before.data<float>()[k];
    for (int step = 0; step < 3; ++step) {
      c = Sigmoid(sum(1)) * c + Sigmoid(sum(0)) * std::tanh(sum(3));
    }
    hidden.push_back(static_cast<float>(Sigmoid(sum(2)) * std::tanh(c)));
  }
  ExpectNear(Fetched(program, "h", {{"x", &x}, {"c", &before}}), hidden);
  ASSERT_TRUE(RunPasses(&program, "raise_composites").ok());
  EXPECT_EQ(Bytes(program), original);
}

}  // namespace
}  // namespace fixpoint
