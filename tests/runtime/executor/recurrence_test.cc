// Recurrent networks on the executor and on the reference interpreter, with their gradients.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

std::string List(const std::string& prefix, int count) {
  std::string list;
  for (int i = 0; i < count; ++i) absl::StrAppend(&list, i == 0 ? "[" : ", ", prefix, i);
  return list + "]";
}

// An rnn of `steps` x 3 x 5 features and states of 7, with its gradient op.
struct Rnn {
  std::string mode;
  int layers;
  bool is_bidirectional;
  std::string lengths = "";  // of three sequences, or none
  bool is_test = false;
  int steps = 4;
  int state_bits = 0;

  int gates() const { return mode == "LSTM" ? 4 : mode == "GRU" ? 3 : 1; }
  int directions() const { return is_bidirectional ? 2 : 1; }
  int states() const { return mode == "LSTM" ? 2 : 1; }
  int weights() const { return 4 * layers * directions(); }

  std::string Attributes() const {
    return absl::StrCat("{mode=\"", mode, "\", num_layers=", layers,
                        ", is_bidirec=", is_bidirectional ? "true" : "false",
                        ", hidden_size=7, input_size=5, is_test=", is_test ? "true" : "false",
                        state_bits == 0 ? "" : absl::StrCat(", state_bits=", state_bits), "}");
  }
  std::string Inputs() const {
    return absl::StrCat("Input=x, PreState=", List("s", states()),
                        ", WeightList=", List("w", weights()),
                        lengths.empty() ? "" : ", SequenceLength=n");
  }
  std::string Forward() const {
    return absl::StrCat("rnn(", Inputs(), ") -> (Out=y, State=", List("t", states()),
                        ", Reserve=r, DropoutState=d) ", Attributes(), "\n");
  }
  // `with_states`: the last states have a gradient too.
  std::string Backward(bool with_states) const {
    return absl::StrCat("rnn_grad(", Inputs(), ", Out=y, Reserve=r, DropoutState=d, Out@GRAD=dy",
                        with_states ? ", State@GRAD=" + List("dt", states()) : "",
                        ") -> (Input@GRAD=dx, PreState@GRAD=", List("ds", states()),
                        ", WeightList@GRAD=", List("dw", weights()), ") ", Attributes(), "\n");
  }
  std::string Values() const {
    const int rows = 7 * gates();
    const int pairs = layers * directions();
    std::string values = Drawn("x", {steps, 3, 5}) + Drawn("dy", {steps, 3, 7 * directions()});
    for (int i = 0; i < states(); ++i) {
      values += Drawn(absl::StrCat("s", i), {pairs, 3, 7});
      values += Drawn(absl::StrCat("dt", i), {pairs, 3, 7});
    }
    for (int i = 0; i < weights(); ++i) {
      const std::string name = absl::StrCat("w", i);
      if (i >= 2 * pairs) {
        values += Drawn(name, {rows});
      } else if (i % 2 == 1) {
        values += Drawn(name, {rows, 7});
      } else {
        values += Drawn(name, {rows, i / 2 < directions() ? 5 : 7 * directions()});
      }
    }
    if (!lengths.empty()) absl::StrAppend(&values, "n i32[3] ", lengths, "\n");
    return values;
  }
};

std::string Program(const std::string& ops) {
  return absl::StrCat("program version=2006002\nblock 0 {\n", ops, "}\n");
}

TEST(Rnn, IsAsOnTheInterpreter) {
  for (const std::string mode : {"LSTM", "GRU", "RNN_TANH", "RNN_RELU"}) {
    for (const int layers : {1, 2}) {
      for (const bool is_bidirectional : {false, true}) {
        for (const std::string lengths : {"", "4 0 2"}) {
          const Rnn rnn{mode, layers, is_bidirectional, lengths};
          SCOPED_TRACE(rnn.Forward());
          EXPECT_EQ(OpDifferences(Program(rnn.Forward() + rnn.Backward(true)), rnn.Values()), "");
        }
      }
    }
  }
}

TEST(Rnn, OfTestModeKeepsNothing) {
  const Rnn rnn{"LSTM", 1, true, "", true};
  EXPECT_EQ(OpDifferences(Program(rnn.Forward()), rnn.Values()), "");
}

// What the forward op computed is used where that is planned, and computed again elsewhere.
TEST(Rnn, HasItsGradientWithoutTheForwardOp) {
  for (const std::string mode : {"LSTM", "GRU", "RNN_TANH"}) {
    const Rnn rnn{mode, 2, true, "4 1 3"};
    const std::string values = rnn.Values() + Drawn("y", {4, 3, 14}) + "r f32[0]\nd u8[0]\n";
    EXPECT_EQ(OpDifferences(Program(rnn.Backward(false)), values), "");
  }
}

TEST(Rnn, OfOneStep) {
  const Rnn rnn{"GRU", 1, true, "1 0 1", false, 1};
  EXPECT_EQ(OpDifferences(Program(rnn.Forward() + rnn.Backward(true)), rnn.Values()), "");
}

// The gradient op rounds what it reads of the states alike. Of codes of 16 bits, a backend may have
// the next one where the other's sums are close to a tie.
TEST(Rnn, RoundsItsStates) {
  for (const std::string mode : {"LSTM", "GRU", "RNN_TANH", "RNN_RELU"}) {
    for (const int bits : {2, 8, 16}) {
      Rnn rnn{mode, 2, true, "4 0 2"};
      rnn.state_bits = bits;
      const double tolerance = bits == 16 ? 1.0 / 32767 : 1e-5;
      EXPECT_EQ(
          OpDifferences(Program(rnn.Forward() + rnn.Backward(true)), rnn.Values(), tolerance), "")
          << rnn.Forward();
    }
  }
}

TEST(Rnn, RefusesBitsThatNoCodeHas) {
  for (const int bits : {1, 17, -8}) {
    Rnn rnn{"GRU", 1, false};
    rnn.state_bits = bits;
    const std::string why =
        absl::StrCat("block 0, op 0 (rnn): codes of a state have ", bits, " bits; want 2 to 16\n");
    EXPECT_EQ(OpDifferences(Program(rnn.Forward()), rnn.Values()),
              "executor: " + why + "interpreter: " + why);
  }
}

TEST(Rnn, RefusesWhatHasNoMeaning) {
  const Rnn rnn{"LSTM", 1, false, "4 5 0"};
  EXPECT_EQ(OpDifferences(Program(rnn.Forward()), rnn.Values()),
            "executor: block 0, op 0 (rnn): SequenceLength 1 is 5; want 0 to 4\n"
            "interpreter: block 0, op 0 (rnn): SequenceLength 1 is 5; want 0 to 4\n");
}

// Sequences of three rows, of none, of one and of five.
constexpr char kOffsets[] = "lod={0,3,3,4,9}";

std::string Cut(const std::string& name, int columns) {
  std::string line = Drawn(name, {9, columns});
  line.insert(line.find(' ', line.find(' ') + 1), std::string(" ") + kOffsets);
  return line;
}

struct Lstm {
  std::string attributes;
  bool has_first = true;
  bool has_peepholes = true;

  std::string Inputs() const {
    return std::string("Input=x") + (has_first ? ", H0=h0, C0=c0" : "") + ", Weight=w, Bias=b";
  }
  std::string Ops() const {
    const std::string attrs =
        " {" + attributes + (has_peepholes ? "use_peepholes=true}\n" : "use_peepholes=false}\n");
    return "lstm(" + Inputs() + ") -> (Hidden=h, Cell=c, BatchGate=g, BatchCellPreAct=p)" + attrs +
           "lstm_grad(" + Inputs() +
           ", Hidden=h, Cell=c, BatchGate=g, BatchCellPreAct=p, Hidden@GRAD=dh) -> "
           "(Input@GRAD=dx, Weight@GRAD=dw, Bias@GRAD=db" +
           (has_first ? ", H0@GRAD=dh0, C0@GRAD=dc0)" : ")") + attrs;
  }
  std::string Values() const {
    return Cut("x", 24) + Drawn("w", {6, 24}) + Drawn("b", {1, has_peepholes ? 42 : 24}) +
           Drawn("h0", {4, 6}) + Drawn("c0", {4, 6}) + Drawn("dh", {9, 6});
  }
};

TEST(Lstm, IsAsOnTheInterpreter) {
  for (const bool has_first : {false, true}) {
    for (const bool has_peepholes : {false, true}) {
      for (const std::string attributes :
           {"", "is_reverse=true, ", "state_bits=8, ", "state_bits=12, is_reverse=true, ",
            "gate_activation=\"tanh\", cell_activation=\"identity\", "
            "candidate_activation=\"relu\", "}) {
        const Lstm lstm{attributes, has_first, has_peepholes};
        EXPECT_EQ(OpDifferences(Program(lstm.Ops()), lstm.Values()), "") << lstm.Ops();
      }
    }
  }
}

TEST(Gru, IsAsOnTheInterpreter) {
  for (const std::string inputs :
       {"Input=x, Weight=w", "Input=x, Weight=w, Bias=b", "Input=x, H0=h0, Weight=w, Bias=b"}) {
    for (const std::string attrs :
         {"{}", "{is_reverse=true}", "{origin_mode=true, is_reverse=true}", "{state_bits=8}",
          "{state_bits=16, origin_mode=true}", "{activation=\"relu\", gate_activation=\"tanh\"}"}) {
      const std::string ops =
          "gru(" + inputs + ") -> (Hidden=h, BatchGate=g, BatchResetHiddenPrev=r, BatchHidden=k) " +
          attrs + "\ngru_grad(" + inputs +
          ", BatchGate=g, BatchResetHiddenPrev=r, BatchHidden=k, Hidden=h, Hidden@GRAD=dh) -> "
          "(Input@GRAD=dx, Weight@GRAD=dw" +
          (absl::StrContains(inputs, "Bias") ? ", Bias@GRAD=db" : "") +
          (absl::StrContains(inputs, "H0") ? ", H0@GRAD=dh0) " : ") ") + attrs + "\n";
      EXPECT_EQ(
          OpDifferences(Program(ops), Cut("x", 18) + Drawn("w", {6, 18}) + Drawn("b", {1, 18}) +
                                          Drawn("h0", {4, 6}) + Drawn("dh", {9, 6})),
          "")
          << ops;
    }
  }
}

// Codes from -127 to 127.
std::string Codes(const std::string& name, int rows, int columns) {
  std::string line = absl::StrCat(name, " i8[", rows, ",", columns, "]");
  for (int i = 0; i < rows * columns; ++i) absl::StrAppend(&line, " ", i * 89 % 255 - 127);
  return line + "\n";
}

// Positive numbers about the step of a product of codes.
std::string Scales(const std::string& name, int count) {
  std::string line = absl::StrCat(name, " f32[", count, "]");
  for (int i = 0; i < count; ++i) absl::StrAppend(&line, " ", (1 + i % 7) * 2e-5);
  return line + "\n";
}

TEST(RecurrentOpsOnIntegers, AreAsOnTheInterpreter) {
  for (const int bits : {4, 8, 16}) {
    const std::string values = Cut("x", 24) + Cut("y", 18) + Codes("w", 6, 24) + Codes("v", 6, 18) +
                               Scales("s", 24) + Scales("r", 18) + Drawn("b", {1, 42}) +
                               Drawn("h0", {4, 6}) + Drawn("c0", {4, 6});
    const std::string attrs = absl::StrCat("{state_bits=", bits, "}\n");
    EXPECT_EQ(OpDifferences(
                  Program("integer_lstm(Input=x, H0=h0, C0=c0, Weight=w, Scales=s, Bias=b) -> "
                          "(Hidden=h, Cell=c) " +
                          attrs + "integer_gru(Input=y, H0=h0, Weight=v, Scales=r) -> (Hidden=g) " +
                          attrs),
                  values),
              "")
        << bits;
  }
}

TEST(RecurrentOpsOnIntegers, AreOfLayersAndDirections) {
  for (const auto& [mode, gates] : {std::pair("LSTM", 4), std::pair("GRU", 3)}) {
    for (const int zero_point : {0, -3}) {
      const int rows = 7 * gates;
      std::string values = Codes("x", 12, 5);
      values.replace(values.find("[12,5]"), 6, "[4,3,5]");
      values += Drawn("h0", {4, 3, 7}) + Drawn("c0", {4, 3, 7});
      for (int i = 0; i < 8; ++i) {
        values += Codes(absl::StrCat("w", i), rows, i % 2 == 1 ? 7 : i < 4 ? 5 : 14);
        values += Scales(absl::StrCat("s", i), rows) + Drawn(absl::StrCat("w", 8 + i), {rows});
      }
      const bool is_lstm = gates == 4;
      EXPECT_EQ(
          OpDifferences(Program(absl::StrCat("integer_rnn(Input=x, PreState=[h0",
                                             is_lstm ? ", c0" : "", "], WeightList=", List("w", 16),
                                             ", Scales=", List("s", 8), ") -> (Out=y, State=[h",
                                             is_lstm ? ", c" : "", "]) {mode=\"", mode,
                                             "\", num_layers=2, is_bidirec=true, hidden_size=7, "
                                             "input_size=5, state_bits=8, input_zero_point=",
                                             zero_point, "}\n")),
                        values),
          "")
          << mode;
    }
  }
}

TEST(RecurrentOpsOnIntegers, RefuseScalesThatAreNotOfTheirColumns) {
  const std::string why = "block 0, op 0 (integer_gru): Scales 0 is [17]; want 18 elements\n";
  EXPECT_EQ(OpDifferences(Program("integer_gru(Input=y, Weight=v, Scales=r) -> (Hidden=g) "
                                  "{state_bits=8}\n"),
                          Cut("y", 18) + Codes("v", 6, 18) + Scales("r", 17)),
            "executor: " + why + "interpreter: " + why);
}

TEST(GruUnit, IsAsOnTheInterpreter) {
  for (const std::string inputs :
       {"Input=x, HiddenPrev=h0, Weight=w", "Input=x, HiddenPrev=h0, Weight=w, Bias=b"}) {
    for (const std::string attrs :
         {"{}", "{origin_mode=true}", "{activation=0, gate_activation=3}"}) {
      const std::string ops = "gru_unit(" + inputs + ") -> (Gate=g, ResetHiddenPrev=r, Hidden=h) " +
                              attrs + "\ngru_unit_grad(" + inputs +
                              ", Gate=g, ResetHiddenPrev=r, Hidden@GRAD=dh) -> (Input@GRAD=dx, "
                              "HiddenPrev@GRAD=dh0, Weight@GRAD=dw" +
                              (absl::StrContains(inputs, "Bias") ? ", Bias@GRAD=db) " : ") ") +
                              attrs + "\n";
      EXPECT_EQ(OpDifferences(Program(ops), Drawn("x", {5, 18}) + Drawn("w", {6, 18}) +
                                                Drawn("b", {1, 18}) + Drawn("h0", {5, 6}) +
                                                Drawn("dh", {5, 6})),
                "")
          << ops;
    }
  }
}

TEST(LstmUnit, IsAsOnTheInterpreter) {
  EXPECT_EQ(OpDifferences(Program(R"(
    lstm_unit(X=x, C_prev=c0) -> (C=c, H=h) {forget_bias=0.5}
    lstm_unit_grad(X=x, C_prev=c0, C=c, H=h, C@GRAD=dc, H@GRAD=dh) -> (X@GRAD=dx,
      C_prev@GRAD=dc0) {forget_bias=0.5})"
                                  "\n"),
                          Drawn("x", {5, 24}) + Drawn("c0", {5, 6}) + Drawn("dc", {5, 6}) +
                              Drawn("dh", {5, 6})),
            "");
}

}  // namespace
}  // namespace fixpoint::executor
