// What is inferred of recurrent networks.

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

}  // namespace
}  // namespace fixpoint
