// The cases of ops that resize images, pad, slice with steps, and pick by indices.

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/gradient_cases.h"

namespace fixpoint::reference {
namespace {

// An op that resizes x, of any number of dimensions.
GradientCase Resized(const std::string& op, const std::string& dims, const std::string& attrs) {
  return {op, absl::StrCat("var x f32[", dims, "] persistable\n", op, "(X=x) -> (Out=out) {", attrs,
                           "}")};
}

// An op that reads x and places elements of it.
GradientCase Placed(const std::string& name, const std::string& dims, const std::string& op,
                    std::vector<int64_t> versions = {1008005, 2006002}) {
  return {
      name, absl::StrCat("var x f32[", dims, "] persistable\n", op), "", {}, std::move(versions)};
}

}  // namespace

std::vector<GradientCase> PlaceGradientCases() {
  const std::vector<int64_t> k2x = {2006002};
  return {
      Resized("nearest_interp", "1,2,3,2", "out_h=5, out_w=3"),
      Resized("nearest_interp_v2", "1,2,2,2,3", "out_d=3, out_h=1, out_w=5, align_corners=false"),
      Resized("linear_interp_v2", "2,1,4", "out_w=7, align_corners=false, align_mode=0"),
      Resized("bilinear_interp", "1,2,3,3", "out_h=5, out_w=2"),
      Resized("bilinear_interp_v2", "1,3,3,2",
              "scale=[1.7, 2.0], align_corners=false, align_mode=0, data_layout=\"NHWC\""),
      Resized("trilinear_interp_v2", "1,1,2,3,2", "out_d=3, out_h=2, out_w=4, align_corners=false"),
      Resized("bicubic_interp_v2", "1,1,3,4", "out_h=5, out_w=7, align_corners=false"),
      Placed("pad", "2,3", "pad(X=x) -> (Out=out) {paddings=[1, 0, 2, 1], pad_value=1.0}"),
      Placed("pad2d_reflect", "1,2,3,3",
             "pad2d(X=x) -> (Out=out) {paddings=[1, 2, 2, 1], mode=\"reflect\"}"),
      Placed("pad2d_edge", "1,3,3,2",
             "pad2d(X=x) -> (Out=out) {paddings=[1, 2, 2, 1], mode=\"edge\", "
             "data_format=\"NHWC\"}"),
      Placed("pad3d_circular", "1,1,2,2,3",
             "pad3d(X=x) -> (Out=out) {paddings=[1, 2, 1, 0, 0, 1], mode=\"circular\"}", k2x),
      Placed("strided_slice", "5,3",
             "strided_slice(Input=x) -> (Out=out) {axes=[0, 1], starts=[4, 1], ends=[0, 2], "
             "strides=[-2, 1], decrease_axis=[1]}"),
      Placed("space_to_depth", "1,8,2,4", "space_to_depth(X=x) -> (Out=out) {blocksize=2L}"),
      Placed("rnn_memory_helper", "2,3", "rnn_memory_helper(X=x) -> (Out=out)"),
      Placed("unfold", "2,2,4,3",
             "unfold(X=x) -> (Y=out) {kernel_sizes=[2, 2], strides=[2, 1], paddings=[1, 0, 0, 1], "
             "dilations=[1, 2]}"),
      Placed("fold", "2,8,9",
             "fold(X=x) -> (Y=out) {output_sizes=[4, 3], kernel_sizes=[2, 2], strides=[2, 1], "
             "paddings=[1, 0, 1, 1], dilations=[1, 1]}"),
      Placed("affine_grid", "2,2,3",
             "affine_grid(Theta=x) -> (Output=out) {output_shape=[2, 1, 3, 2]}"),
      Placed("affine_grid_of_edges", "1,2,3",
             "affine_grid(Theta=x) -> (Output=out) {output_shape=[1, 1, 2, 3], "
             "align_corners=false}",
             k2x),
      {"unpool",
       R"(
         var x f32[1,2,1,2] persistable
         var i i32[1,2,1,2]
         unpool(X=x, Indices=i) -> (Out=out) {ksize=[2, 2], strides=[2, 2], unpooling_type="max"})",
       "i i32[1,2,1,2] 4 3 0 7"},
      Placed("flip", "2,3", "flip(X=x) -> (Out=out) {axis=[1], dims=[1]}"),
      Placed("roll", "2,3", "roll(X=x) -> (Out=out) {shifts=[4L], axis=[1L]}", k2x),
      Placed("expand", "2,3", "expand(X=x) -> (Out=out) {expand_times=[3, 2]}"),
      Placed("tile", "3", "tile(X=x) -> (Out=out) {repeat_times=[2, 2]}"),
      Placed("expand_v2", "3,1", "expand_v2(X=x) -> (Out=out) {shape=[2, -1, 4]}"),
      Placed("expand_as_v2", "1,3", "expand_as_v2(X=x) -> (Out=out) {target_shape=[4, 3]}"),
      Placed("expand_as", "1,3",
             "fill_constant() -> (Out=t) {shape=[2L, 6L], dtype=5}\n"
             "expand_as(X=x, target_tensor=t) -> (Out=out)"),
      Placed("unbind", "2,3",
             "unbind(X=x) -> (Out=[a, b]) {axis=0}\nelementwise_mul(X=a, Y=b) -> (Out=out)"),
      Placed("unstack", "2,3",
             "unstack(X=x) -> (Y=[a, b]) {axis=0, num=2}\nelementwise_mul(X=a, Y=b) -> (Out=out)"),
      Placed("cumsum", "2,4", "cumsum(X=x) -> (Out=out) {exclusive=true}"),
      Placed("cumsum_reverse", "3,2", "cumsum(X=x) -> (Out=out) {axis=0, reverse=true}"),
      Placed("tril_triu", "2,3,3", "tril_triu(X=x) -> (Out=out) {lower=false, diagonal=-1}"),
      Placed("p_norm", "2,3", "p_norm(X=x) -> (Out=out) {porder=3.0, axis=0}"),
      Placed("p_norm_largest", "2,3", "p_norm(X=x) -> (Out=out) {porder=inf, keepdim=true}"),
      Placed("affine_channel", "2,3,2,2",
             "var s f32[3] persistable\nvar b f32[3] persistable\n"
             "affine_channel(X=x, Scale=s, Bias=b) -> (Out=out) {data_layout=\"NCHW\"}"),
      Placed("where", "2,2",
             "var y f32[2,2] persistable\nless_than(X=x, Y=y) -> (Out=c)\n"
             "where(Condition=c, X=x, Y=y) -> (Out=out)"),
      {"set_value",
       R"(
         var x f32[3,4] persistable
         var v f32[2] persistable
         set_value(Input=x, ValueTensor=v) -> (Out=out) {axes=[0L, 1L], starts=[0L, 3L],
           ends=[3L, 0L], steps=[2L, -2L]})",
       "",
       {},
       k2x},
      {"bmm", R"(
         var x f32[2,2,3] persistable
         var y f32[2,3,4] persistable
         bmm(X=x, Y=y) -> (Out=out))"},
      {"gather", R"(
         var x f32[4,2] persistable
         var i i64[3]
         gather(X=x, Index=i) -> (Out=out))",
       "i i64[3] 3 1 3"},
      {"gather_nd", R"(
         var x f32[3,2,2] persistable
         var i i64[3,2]
         gather_nd(X=x, Index=i) -> (Out=out))",
       "i i64[3,2] 2 0 1 1 2 0"},
      {"index_select", R"(
         var x f32[2,3] persistable
         var i i64[4]
         index_select(X=x, Index=i) -> (Out=out) {dim=1})",
       "i i64[4] 2 0 2 1"},
      {"index_sample", R"(
         var x f32[2,3] persistable
         var i i64[2,2]
         index_sample(X=x, Index=i) -> (Out=out))",
       "i i64[2,2] 2 2 0 1"},
      {"take_along_axis",
       R"(
         var x f32[3,2] persistable
         var i i64[2,2]
         take_along_axis(Input=x, Index=i) -> (Result=out) {Axis=0})",
       "i i64[2,2] 2 0 2 1",
       {},
       k2x},
      {"einsum_of_matrices",
       R"(
         var x f32[2,3,2] persistable
         var y f32[2,2,4] persistable
         einsum(Operands=[x, y]) -> (Out=out, InnerCache=[a, b], XShape=[c, d]) {
           equation="bij,bjk->kbi"})",
       "",
       {},
       k2x},
      {"einsum_with_sums_of_one_operand",
       R"(
         var x f32[2,3] persistable
         var y f32[3,4] persistable
         einsum(Operands=[x, y]) -> (Out=out, InnerCache=[a, b], XShape=[c, d]) {
           equation="ij,jk->j"})",
       "",
       {},
       k2x},
      {"put_along_axis",
       R"(
         var x f32[3,2] persistable
         var v f32[2,2] persistable
         var i i64[2,2]
         put_along_axis(Input=x, Index=i, Value=v) -> (Result=out) {Axis=0})",
       "i i64[2,2] 2 0 1 1",
       {},
       k2x},
      {"put_along_axis_adding",
       R"(
         var x f32[3,2] persistable
         var v f32[2,2] persistable
         var i i64[2,2]
         put_along_axis(Input=x, Index=i, Value=v) -> (Result=out) {Axis=0, Reduce="add"})",
       "i i64[2,2] 2 0 2 1",
       {},
       k2x},
      {"scatter", R"(
         var x f32[4,2] persistable
         var u f32[2,2] persistable
         var i i64[2]
         scatter(X=x, Ids=i, Updates=u) -> (Out=out))",
       "i i64[2] 3 1"},
      {"scatter_nd_add", R"(
         var x f32[4,2] persistable
         var u f32[3,2] persistable
         var i i64[3,1]
         scatter_nd_add(X=x, Index=i, Updates=u) -> (Out=out))",
       "i i64[3,1] 3 1 3"},
  };
}

}  // namespace fixpoint::reference
