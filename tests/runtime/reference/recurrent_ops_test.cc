// Recurrent networks, tags and alignments, with values worked out by hand.

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

TEST(SequenceRows, AreReversedJoinedAndRepeated) {
  const std::string x = "x f32[3,1] lod={0,2,3} 1 2 3\ny f32[4,1] lod={0,1,4} 5 6 7 8\n";
  EXPECT_EQ(RunOps("sequence_reverse(X=x) -> (Y=o)", x), "o f32[3,1] lod={0,2,3} 2 1 3\n");
  EXPECT_EQ(RunOps("sequence_concat(X=[x, y]) -> (Out=o)", x),
            "o f32[7,1] lod={0,3,7} 1 2 5 3 6 7 8\n");
  EXPECT_EQ(RunOps("sequence_expand(X=x, Y=y) -> (Out=o) {ref_level=0}",
                   "x f32[3,1] lod={0,2,3} 1 2 3\ny f32[3,1] lod={0,2,3} 0 0 0\n"),
            "o f32[5,1] lod={0,2,4,5} 1 2 1 2 3\n");
  EXPECT_EQ(RunOps("sequence_expand_as(X=x, Y=y) -> (Out=o)",
                   "x f32[2,1] 1 2\ny f32[3,1] lod={0,2,3} 0 0 0\n"),
            "o f32[3,1] lod={0,2,3} 1 1 2\n");
}

TEST(SequenceRows, ArePaddedAndUnpadded) {
  EXPECT_EQ(RunOps("sequence_pad(X=x, PadValue=p) -> (Out=o, Length=n)\n"
                   "sequence_unpad(X=o, Length=n) -> (Out=z)\n",
                   "x f32[3,1] lod={0,2,3} 1 2 3\np f32[1] -1\n"),
            "n i64[2] 2 1\no f32[2,2,1] 1 2 3 -1\nz f32[3,1] lod={0,2,3} 1 2 3\n");
  EXPECT_EQ(RunOps("sequence_mask(X=x) -> (Y=o) {maxlen=3, out_dtype=2}", "x i64[2] 2 5\n"),
            "o i32[2,3] 1 1 0 1 1 1\n");
}

TEST(SequenceRows, GetOtherOffsets) {
  EXPECT_EQ(
      RunOps("sequence_reshape(X=x) -> (Out=o) {new_dim=1}", "x f32[2,2] lod={0,1,2} 1 2 3 4\n"),
      "o f32[4,1] lod={0,2,4} 1 2 3 4\n");
  EXPECT_EQ(RunOps("lod_reset(X=x) -> (Out=o) {target_lod=[0, 1, 3]}", "x f32[3,1] 1 2 3\n"),
            "o f32[3,1] lod={0,1,3} 1 2 3\n");
  EXPECT_EQ(
      RunOps("lod_reset(X=x) -> (Out=o) {target_lod=[0, 4]}", "x f32[3,1] 1 2 3\n"),
      "block 0, op 0 (lod_reset): the offsets are [0, 4] and X is [3, 1]; want them ascending "
      "from 0 to the number of its rows");
}

TEST(Crf, DecodesTheBestPath) {
  // Two tags. From tag 0 to 1 costs nothing, all else 10.
  const std::string scores = "e f32[2,2] lod={0,2} 1 0 1 0\nt f32[4,2] 0 0 0 0 -10 0 -10 -10\n";
  EXPECT_EQ(RunOps("crf_decoding(Emission=e, Transition=t) -> (ViterbiPath=p)", scores),
            "p i64[2,1] lod={0,2} 0 1\n");
}

TEST(Crf, LossOfEqualScoresIsThatOfChance) {
  EXPECT_EQ(RunOps("linear_chain_crf(Emission=e, Transition=t, Label=l) -> (LogLikelihood=o, "
                   "Alpha=[], EmissionExps=[], TransitionExps=[])",
                   "e f32[2,2] lod={0,2} 0 0 0 0\nt f32[4,2] 0 0 0 0 0 0 0 0\n"
                   "l i64[2,1] lod={0,2} 0 1\n"),
            "o f32[1,1] 1.38629436\n");
}

TEST(Ctc, LossOfEqualScoresCountsTheAlignments) {
  // Of two steps and one label, three of the four paths give it: -ln(3 / 4).
  EXPECT_EQ(RunOps("warpctc(Logits=x, Label=l) -> (Loss=o, WarpCTCGrad=[])",
                   "x f32[2,2] lod={0,2} 0 0 0 0\nl i32[1,1] lod={0,1} 1\n"),
            "o f32[1,1] 0.287682086\n");
}

TEST(Ctc, AlignsTokens) {
  EXPECT_EQ(RunOps("ctc_align(Input=x) -> (Output=o)", "x i32[6,1] lod={0,4,6} 1 0 1 1 0 0\n"),
            "o i32[2,1] lod={0,2,2} 1 1\n");
}

TEST(EditDistance, CountsWhatChanges) {
  EXPECT_EQ(RunOps("edit_distance(Hyps=h, Refs=r) -> (Out=o, SequenceNum=n)",
                   "h i64[5,1] lod={0,2,5} 1 2 1 2 3\nr i64[4,1] lod={0,3,4} 1 3 2 2\n"),
            "n i64[1] 2\no f32[2,1] 1 2\n");
}

}  // namespace
}  // namespace fixpoint::reference
