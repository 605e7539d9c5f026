// Recurrent networks, with values worked out by hand.

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

// Without functions a state is a sum: h' = x + h.
constexpr char kSums[] =
    "x f32[3,1,1] 1 2 3\nh f32[1,1,1] 10\nw f32[1,1] 1\nu f32[1,1] 1\nb f32[1] 0\n";

TEST(Rnn, StepsFromStateToState) {
  EXPECT_EQ(RunOps("rnn(Input=x, PreState=[h], WeightList=[w, u, b, b]) -> (Out=y, State=[s], "
                   "Reserve=[]) {mode=\"RNN_RELU\", hidden_size=1}",
                   kSums),
            "s f32[1,1,1] 16\ny f32[3,1,1] 11 13 16\n");
}

TEST(Rnn, EndsWhereASequenceDoes) {
  const std::string two =
      "x f32[3,2,1] 1 1 2 2 3 3\nh f32[2,2,1] 10 20 100 200\nw f32[1,1] 1\nu f32[1,1] 1\n"
      "b f32[1] 0\nn i64[2] 2 0\n";
  EXPECT_EQ(RunOps("rnn(Input=x, PreState=[h], WeightList=[w, u, w, u, b, b, b, b], "
                   "SequenceLength=n) -> (Out=y, State=[s], Reserve=[]) {mode=\"RNN_RELU\", "
                   "hidden_size=1, is_bidirec=true}",
                   two),
            "s f32[2,2,1] 13 20 103 200\ny f32[3,2,2] 11 103 0 0 13 102 0 0 0 0 0 0\n");
}

TEST(Rnn, RefusesWhatHasNoMeaning) {
  const auto run = [](const std::string& attributes) {
    return RunOps(
        "rnn(Input=x, PreState=[h], WeightList=[w, u, b, b]) -> (Out=y, State=[s], "
        "Reserve=[]) {" +
            attributes + "}",
        kSums);
  };
  EXPECT_EQ(run("mode=\"TREE\", hidden_size=1"),
            "block 0, op 0 (rnn): mode is \"TREE\"; want LSTM, GRU, RNN_TANH or RNN_RELU");
  EXPECT_EQ(run("hidden_size=1, num_layers=-1"),
            "block 0, op 0 (rnn): num_layers is -1 and hidden_size 1; want at least 1 of each, and "
            "at most 65536 layers");
  EXPECT_EQ(run("hidden_size=1, is_bidirec=true"),
            "block 0, op 0 (rnn): PreState has 1 arguments and WeightList 4; want 1 and 8");
  EXPECT_EQ(run("hidden_size=2"), "block 0, op 0 (rnn): PreState is [1, 1, 1]; want [1, 1, 2]");
  EXPECT_EQ(run("hidden_size=1, num_layers=2, dropout_prob=0.5"),
            "block 0, op 0 (rnn): dropout_prob is 0.5 in training; want 0, or one layer");
}

// With gates that are identities: c' = f c + i n and h' = o c'.
TEST(Lstm, HasGatesInTheOrderOfItsColumns) {
  EXPECT_EQ(RunOps("lstm(Input=x, C0=c0, H0=h0, Weight=w, Bias=b) -> (Hidden=h, Cell=c, "
                   "BatchGate=[], BatchCellPreAct=[]) {use_peepholes=false, "
                   "gate_activation=\"identity\", cell_activation=\"identity\", "
                   "candidate_activation=\"identity\"}",
                   "x f32[2,4] lod={0,1,2} 2 3 5 7 1 1 1 1\nh0 f32[2,1] 0 0\nc0 f32[2,1] 10 1\n"
                   "w f32[1,4] 0 0 0 0\nb f32[1,4] 0 0 0 0\n"),
            "c f32[2,1] lod={0,1,2} 56 2\nh f32[2,1] lod={0,1,2} 392 2\n");
}

TEST(Gru, MixesTheStateWithTheCandidate) {
  const auto run = [](const std::string& attributes) {
    return RunOps(
        "gru(Input=x, H0=h0, Weight=w) -> (Hidden=h, BatchGate=[], "
        "BatchResetHiddenPrev=[], BatchHidden=[]) {activation=\"identity\", "
        "gate_activation=\"identity\"" +
            attributes + "}",
        "x f32[2,3] lod={0,2} 0.25 2 8 0.5 1 4\nh0 f32[1,1] 4\nw f32[1,3] 0 0 1\n");
  };
  // n = 8 + 2 * 4 = 16, h = 0.75 * 4 + 0.25 * 16 = 7; n = 4 + 7 = 11, h = 9.
  EXPECT_EQ(run(""), "h f32[2,1] lod={0,2} 7 9\n");
  // h = 0.25 * 4 + 0.75 * 16 = 13; n = 17, h = 15.
  EXPECT_EQ(run(", origin_mode=true"), "h f32[2,1] lod={0,2} 13 15\n");
  // The last row first: n = 4 + 4 = 8, h = 6; n = 8 + 12 = 20, h = 0.75 * 6 + 5 = 9.5.
  EXPECT_EQ(run(", is_reverse=true"), "h f32[2,1] lod={0,2} 9.5 6\n");
}

}  // namespace
}  // namespace fixpoint::reference
