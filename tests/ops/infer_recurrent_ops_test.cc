// What is inferred of recurrent networks and of ops over sequences.

#include <gtest/gtest.h>

#include "tests/ops/inferred_outputs.h"

namespace fixpoint {
namespace {

TEST_P(Infer, TellsTheOutputs) { ExpectOutputs(); }

constexpr InferCase kRecurrent[] = {
    {R"(var x f32[-1,3,5]
        var s f32[2,3,7]
        rnn(Input=x, PreState=[s], WeightList=[]) -> (Out=y, State=[t]) {hidden_size=7,
          is_bidirec=true})",
     "Out=FP32[-1, 3, 14] State=FP32[2, 3, 7]"},
    {R"(var x f32[3,5]
        rnn(Input=x, PreState=[], WeightList=[]) -> (Out=y, State=[]) {hidden_size=7})",
     "error: Input is [3, 5] and hidden_size 7; want [steps, batch, features] and at least 1"},
    {R"(var x f32[4,3,5]
        rnn(Input=x, PreState=[], WeightList=[]) -> (Out=y, State=[]) {hidden_size=-7})",
     "error: Input is [4, 3, 5] and hidden_size -7; want [steps, batch, features] and at least 1"},
    {"var x f32[6,10]\nlstm(Input=x) -> (Hidden=h)",
     "error: Input is [6, 10]; want a second dim that 4 gates divide"},
    {"var x f32[6,12]\ngru(Input=x) -> (Hidden=h)", "Hidden=FP32[6, 4]"},
    {R"(var x f32[6,8]
        var p f32[2,3]
        lstmp(Input=x, ProjWeight=p) -> (Projection=h, Cell=c))",
     "Projection=FP32[6, 3] Cell=FP32[6, 2]"},
    {R"(var x f32[6,8]
        var c f32[6,3]
        lstm_unit(X=x, C_prev=c) -> (C=d, H=h))",
     "error: X is [6, 8] and C_prev [6, 3]; want [N,4*D] and [N,D]"},
};
INSTANTIATE_TEST_SUITE_P(Recurrent, Infer, testing::ValuesIn(kRecurrent));

constexpr InferCase kSequences[] = {
    {"var x f32[6,3] lod=1\nsequence_reverse(X=x) -> (Y=y)", "Y=FP32[6, 3]"},
    {"var x f32[6,3] lod=1\nsequence_expand(X=x, Y=x) -> (Out=y)", "Out=FP32[-1, 3]"},
    {"var x f32[6,3] lod=1\nsequence_pad(X=x) -> (Out=y, Length=n) {padded_length=9}",
     "Out=FP32[-1, 9, 3] Length=INT64[-1]"},
    {"var x f32[6,3] lod=1\nsequence_pad(X=x) -> (Out=y, Length=n) {padded_length=-9}",
     "error: padded_length is -9; want 1 or more, or -1 for the longest"},
    {"var x f32[2,5,3]\nsequence_unpad(X=x) -> (Out=y)", "Out=FP32[-1, 3]"},
    {"var x i64[2]\nsequence_mask(X=x) -> (Y=y) {maxlen=4, out_dtype=2}", "Y=INT32[2, 4]"},
    {"var x i64[2]\nsequence_mask(X=x) -> (Y=y) {out_dtype=2}", "Y=INT32[2, -1]"},
    {"var x f32[6,4] lod=1\nsequence_reshape(X=x) -> (Out=y) {new_dim=8}", "Out=FP32[3, 8]"},
    {"var x f32[6,4] lod=1\nsequence_reshape(X=x) -> (Out=y) {new_dim=0}",
     "error: X is [6, 4] and new_dim 0; want rows of a dimension, and at least 1"},
    {"var x f32[6,4] lod=1\nvar w f32[2,3]\nrow_conv(X=x, Filter=w) -> (Out=y)",
     "error: Filter is [2, 3] and X [6, 4]; want [context, X's last dimension]"},
    {"var x f32[2,3,8,8]\nim2sequence(X=x) -> (Out=y) {kernels=[2, 3]}", "Out=FP32[-1, 18]"},
    {"var x f32[2,3,8,8]\nim2sequence(X=x) -> (Out=y) {kernels=[0, 3]}",
     "error: kernels are [0, 3]; want at least 1"},
};
INSTANTIATE_TEST_SUITE_P(Sequences, Infer, testing::ValuesIn(kSequences));

constexpr InferCase kTagging[] = {
    {R"(var e f32[2,7,5]
        var t f32[7,5]
        linear_chain_crf(Emission=e, Transition=t) -> (LogLikelihood=y))",
     "LogLikelihood=FP32[2, 1]"},
    {R"(var e f32[7,5] lod=1
        var t f32[5,5]
        crf_decoding(Emission=e, Transition=t) -> (ViterbiPath=y))",
     "error: Emission is [7, 5] and Transition [5, 5]; want [rows, tags] or [N, T, tags], and "
     "[tags + 2, tags]"},
    {R"(var e f32[2,7,5]
        var t f32[5,5]
        viterbi_decode(Input=e, Transition=t) -> (Scores=s, Path=p))",
     "Scores=FP32[2] Path=INT64[2, -1]"},
    {R"(var x f32[9,2,5]
        var n i64[2]
        warpctc(Logits=x, LogitsLength=n) -> (Loss=y))",
     "Loss=FP32[2, 1]"},
    {R"(var x f32[9,5]
        warpctc(Logits=x) -> (Loss=y) {blank=5})",
     "error: Logits is [9, 5] and blank 5; want [rows, classes], and one of the classes"},
    {R"(var x f32[4,5]
        var y f32[1,5]
        cos_sim(X=x, Y=y) -> (Out=o, XNorm=a, YNorm=b))",
     "Out=FP32[4, 1] XNorm=FP32[4, 1] YNorm=FP32[1, 1]"},
    {R"(var x f32[4,5]
        var y f32[3,5]
        cos_sim(X=x, Y=y) -> (Out=o))",
     "error: X is [4, 5] and Y [3, 5]; want rows alike, and as many or one of Y"},
};
INSTANTIATE_TEST_SUITE_P(Tagging, Infer, testing::ValuesIn(kTagging));

}  // namespace
}  // namespace fixpoint
