// What is inferred of ops that reshape, cut and join tensors.

#include <gtest/gtest.h>

#include "tests/ops/inferred_outputs.h"

namespace fixpoint {
namespace {

TEST_P(Infer, TellsTheOutputs) { ExpectOutputs(); }

constexpr InferCase kShape[] = {
    {R"(var x f32[-1,8,4,4]
        reshape2(X=x) -> (Out=y, XShape=s) {shape=[0, -1]})",
     "Out=FP32[-1, -1] XShape=FP32[0, -1, 8, 4, 4]"},
    {R"(var x f32[2,8,4]
        reshape2(X=x) -> (Out=y) {shape=[0, 4, -1]})",
     "Out=FP32[2, 4, 8]"},
    {R"(var x f32[2,3]
        reshape2(X=x) -> (Out=y) {shape=[4, -1]})",
     "error: X [2, 3] has 6 elements, which do not fill shape [4, -1]"},
    {"var x f32[6,10]\nlstm(Input=x) -> (Hidden=h)",
     "error: Input is [6, 10]; want a second dim that 4 gates divide"},
    {R"(var x f32[2,3]
        reshape2(X=x) -> (Out=y) {shape=[-1, -1]})",
     "error: shape is [-1, -1] and X is [2, 3]; want sizes, 0 where X has a dimension, and at most "
     "one -1"},
    {R"(var x f32[2,3]
        reshape2(X=x, Shape=n) -> (Out=y) {shape=[4, -1]})",
     "Out=FP32?"},
    {R"(var x f32[2,3,4]
        transpose2(X=x) -> (Out=y) {axis=[0, 2, 1]})",
     "Out=FP32[2, 4, 3]"},
    {R"(var x f32[2,3,4]
        transpose2(X=x) -> (Out=y) {axis=[0, 2, 2]})",
     "error: axis is [0, 2, 2] and X is [2, 3, 4]; want a permutation of its 3 axes"},
    {R"(var x f32[2,1,4]
        squeeze2(X=x) -> (Out=y) {axes=[1]})",
     "Out=FP32[2, 4]"},
    {R"(var x f32[-1,1,4]
        squeeze2(X=x) -> (Out=y))",
     "Out=FP32?"},
    {R"(var x f32[2,4]
        unsqueeze2(X=x) -> (Out=y) {axes=[0, -1]})",
     "Out=FP32[1, 2, 4, 1]"},
    {R"(var x f32[2,3,4]
        flatten2(X=x) -> (Out=y) {axis=2})",
     "Out=FP32[6, 4]"},
    {R"(var x f32[2,3,4,5]
        flatten_contiguous_range(X=x) -> (Out=y) {start_axis=1, stop_axis=-1})",
     "Out=FP32[2, 60]"},
    {R"(var x f32[2,3,4,5]
        flatten_contiguous_range(X=x) -> (Out=y) {start_axis=2, stop_axis=1})",
     "error: start_axis 2 is after stop_axis 1"},
    {R"(var x f32[2,12,5,5]
        pixel_shuffle(X=x) -> (Out=y) {upscale_factor=2})",
     "Out=FP32[2, 3, 10, 10]"},
    {R"(var x f32[2,10,5,5]
        pixel_shuffle(X=x) -> (Out=y) {upscale_factor=2})",
     "error: upscale_factor is 2 and X is [2, 10, 5, 5]; want a square of it to divide X's "
     "channels"},
};
INSTANTIATE_TEST_SUITE_P(Shape, Infer, testing::ValuesIn(kShape));

constexpr InferCase kJoining[] = {
    {R"(var x f32[-1,8,4]
        var y f32[-1,3,4]
        concat(X=[x, y]) -> (Out=o) {axis=1})",
     "Out=FP32[-1, 11, 4]"},
    {R"(var x f32[2,8]
        var y f32[3,8]
        concat(X=[x, y]) -> (Out=o) {axis=1})",
     "error: X[1] is [3, 8] and X[0] is [2, 8]; want them equal but for axis 1"},
    {R"(var x f32[2,9]
        split(X=x) -> (Out=[a, b, c]) {num=3, axis=1})",
     "Out=FP32[2, 3] Out=FP32[2, 3] Out=FP32[2, 3]"},
    {R"(var x f32[2,9]
        split(X=x) -> (Out=[a, b]) {sections=[4, -1], axis=-1})",
     "Out=FP32[2, 4] Out=FP32[2, 5]"},
    {R"(var x f32[2,9]
        split(X=x) -> (Out=[a, b]) {sections=[4, 4], axis=1})",
     "error: num is 0 and sections is [4, 4], for 2 outputs of an axis of 9; want as many equal "
     "parts, or sections that add up"},
    {R"(var x f32[5,6,7]
        slice(Input=x) -> (Out=y) {axes=[0, 1], starts=[1, -2], ends=[100, -1]})",
     "Out=FP32[4, 1, 7]"},
    {R"(var x f32[5,6,7]
        slice(Input=x) -> (Out=y) {axes=[0], starts=[2], ends=[3], decrease_axis=[0]})",
     "Out=FP32[6, 7]"},
    {R"(var x f32[5,6,7]
        slice(Input=x) -> (Out=y) {axes=[3], starts=[2], ends=[3]})",
     "error: axis 3 is not one of a tensor of 3 dimensions; want -3 to 2"},
    {R"(var x f32[5,6]
        stack(X=[x, x]) -> (Y=y) {axis=-1})",
     "Y=FP32[5, 6, 2]"},
    {R"(var x f32[5,6]
        expand(X=x) -> (Out=y) {expand_times=[2, 1]})",
     "Out=FP32[10, 6]"},
    {R"(var x f32[1,2,3,4]
        pad2d(X=x) -> (Out=y) {paddings=[1, 1, 2, 2]})",
     "Out=FP32[1, 2, 5, 8]"},
    {R"(var x f32[1,2,3,4]
        pad2d(X=x) -> (Out=y) {paddings=[9223372036854775807L, 9223372036854775807L, 0L, 0L]})",
     "error: paddings has 9223372036854775807; want -(2^31 - 1) to 2^31 - 1"},
};
INSTANTIATE_TEST_SUITE_P(Joining, Infer, testing::ValuesIn(kJoining));

}  // namespace
}  // namespace fixpoint
