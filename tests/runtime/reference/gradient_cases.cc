#include "tests/runtime/reference/gradient_cases.h"

#include <string>
#include <utility>

namespace fixpoint::reference {
namespace {

// One op of one input.
GradientCase Unary(const std::string& op, const std::string& attrs = "", InputRange range = {}) {
  return {op + (attrs.empty() ? "" : "_with_attributes"),
          "var x f32[2,3] persistable\n" + op + "(X=x) -> (Out=out) {" + attrs + "}", "", range};
}

// One op of two inputs of those dims; `op` may say in which slots they are.
GradientCase Binary(const std::string& name, const std::string& x, const std::string& y,
                    const std::string& op, const std::string& attrs = "", InputRange range = {}) {
  return {name,
          "var x f32[" + x + "] persistable\nvar y f32[" + y + "] persistable\n" + op +
              (op.back() == ')' ? "" : "(X=x, Y=y) -> (Out=out)") + " {" + attrs + "}",
          "", range};
}

GradientCase Prelu(const std::string& mode, const std::string& alpha) {
  return {"prelu_of_" + mode, "var x f32[2,3,2] persistable\nvar alpha f32[" + alpha +
                                  "] persistable\nprelu(X=x, Alpha=alpha) -> (Out=out) {mode=\"" +
                                  mode + "\"}"};
}

// A pooling of an image.
GradientCase Image(const std::string& name, const std::string& attrs) {
  return {name, "var x f32[1,2,5,4] persistable\npool2d(X=x) -> (Out=out) {" + attrs + "}"};
}

// A pooling of volumes.
GradientCase Volume(const std::string& name, const std::string& op, const std::string& attrs) {
  return {name, "var x f32[1,2,3,4,3] persistable\n" + op + " {" + attrs + "}"};
}

// Regions of one image.
constexpr char kRegions[] = "rois f32[3,4] lod={0,3} 0 0 9 9 1 2 4 3 5 0 6 7";

GradientCase GridSampler(const std::string& padding, bool aligns_corners) {
  return {"grid_sampler_" + padding + (aligns_corners ? "" : "_of_edges"),
          R"(
            var x f32[1,2,3,4] persistable
            var grid f32[1,2,3,2] persistable
            grid_sampler(X=x, Grid=grid) -> (Output=out) {padding_mode=")" +
              padding + "\", align_corners=" + (aligns_corners ? "true}" : "false}"),
          "",
          {-1.5, 1.5},
          {2006002}};
}

// 3 channels on the axes where they may be.
std::string BatchNorm(const std::string& attrs) {
  return R"(
    var x f32[2,3,2,3] persistable
    var scale f32[3] persistable
    var bias f32[3] persistable
    var mean f32[3] stop_gradient
    var variance f32[3] stop_gradient
    batch_norm(X=x, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> (Y=out,
      MeanOut=mean_out, VarianceOut=variance_out, SavedMean=m, SavedVariance=v) {)" +
         attrs + "}";
}

// 4 channels on the axis where they may be.
GradientCase GroupNorm(const std::string& name, const std::string& x, const std::string& attrs) {
  return {"group_norm" + name,
          "var x f32[" + x +
              "] persistable\nvar scale f32[4] persistable\nvar bias f32[4] persistable\n"
              "group_norm(X=x, Scale=scale, Bias=bias) -> (Y=out, Mean=m, Variance=v) {" +
              attrs + "}"};
}

// The deviation of 3 channels is that of their running variance, or not.
std::string FoldedBatchNorm(const std::string& attrs) {
  return R"(
    var x f32[2,3,2,3] persistable
    var unfolded f32[2,3,2,3] persistable
    var deviation f32[3] stop_gradient
    var scale f32[3] persistable
    var bias f32[3] persistable
    var mean f32[3] stop_gradient
    var variance f32[3] stop_gradient
    folded_batch_norm(X=x, Unfolded=unfolded, Deviation=deviation, Scale=scale, Bias=bias,
      Mean=mean, Variance=variance) -> (Y=out, MeanOut=mean_out, VarianceOut=variance_out,
      SavedMean=m, SavedVariance=v) {)" +
         attrs + "}";
}

std::vector<GradientCase> CasesOfMostOps() {
  return {
      Unary("relu"),
      Unary("relu6", "threshold=1.0"),
      Unary("leaky_relu", "alpha=0.1"),
      Unary("sigmoid"),
      Unary("tanh"),
      Unary("hard_sigmoid", "slope=0.4"),
      Unary("hard_swish", "offset=1.0, threshold=2.0, scale=2.0"),
      Unary("swish", "beta=1.5"),
      Unary("silu"),
      Unary("gelu"),
      Unary("gelu", "approximate=true"),
      Prelu("all", "1"),
      Prelu("channel", "3"),
      Prelu("element", "3,2"),
      Unary("abs"),
      Unary("exp"),
      Unary("log", "", {0.5, 2}),
      Unary("sqrt", "", {0.5, 2}),
      Unary("square"),
      Unary("erf"),
      Unary("reduce_max", "dim=[1], keep_dim=true"),
      Unary("scale", "scale=3.0, bias=1.0, bias_after_scale=false"),
      Unary("clip", "min=-1.0, max=1.0"),
      Unary("squared_l2_norm"),
      Unary("mean"),
      Unary("assign"),
      Unary("cast", "in_dtype=5, out_dtype=5"),
      Unary("softmax"),
      Unary("softmax", "axis=0"),
      Binary("elementwise_add_of_a_row", "2,3", "3", "elementwise_add"),
      Binary("elementwise_add_along_an_axis", "2,3,2", "3", "elementwise_add", "axis=1"),
      Binary("elementwise_sub_both_ways", "2,1", "1,3", "elementwise_sub"),
      Binary("elementwise_mul_along_an_axis", "2,3", "2,1", "elementwise_mul", "axis=0"),
      Binary("elementwise_div", "2,3", "3", "elementwise_div", "", {0.5, 2}),
      Binary("elementwise_max", "2,3", "2,3", "elementwise_max"),
      Binary("elementwise_min", "2,3", "3", "elementwise_min"),
      Binary("elementwise_pow", "2,3", "3", "elementwise_pow", "", {0.5, 2}),
      Binary("mul", "2,3", "3,4", "mul"),
      Binary("mul_of_flattened", "2,3,2,2", "2,2,5", "mul", "x_num_col_dims=2, y_num_col_dims=2"),
      Binary("matmul", "2,3", "3,4", "matmul", "alpha=0.5"),
      Binary("matmul_transposed", "3,2", "4,3", "matmul", "transpose_X=true, transpose_Y=true"),
      Binary("matmul_of_batches", "2,3,4", "4,2", "matmul"),
      Binary("matmul_v2_broadcast", "2,1,2,3", "4,3,2", "matmul_v2"),
      Binary("matmul_v2_transposed", "2,3,2", "2,4,3", "matmul_v2", "trans_x=true, trans_y=true"),
      Binary("matmul_v2_of_a_vector", "3", "3,4", "matmul_v2"),
      Binary("conv2d", "2,2,5,4", "3,2,3,2", "conv2d(Input=x, Filter=y) -> (Output=out)",
             "strides=[2, 1], paddings=[1, 0]"),
      Binary("conv2d_in_groups", "1,4,4,4", "6,2,3,3", "conv2d(Input=x, Filter=y) -> (Output=out)",
             "groups=2, paddings=[0, 1, 2, 0], dilations=[1, 2]"),
      Binary("conv2d_same_padding", "1,1,5,5", "1,1,2,3",
             "conv2d(Input=x, Filter=y) -> (Output=out)",
             "strides=[2, 2], padding_algorithm=\"SAME\""),
      Binary("conv2d_channels_last", "1,3,3,2", "2,2,2,2",
             "conv2d(Input=x, Filter=y) -> (Output=out)", "data_format=\"NHWC\""),
      Binary("depthwise_conv2d", "1,3,4,4", "6,1,3,3",
             "depthwise_conv2d(Input=x, Filter=y) -> (Output=out)", "groups=3"),
      Binary("conv2d_transpose", "2,2,3,2", "2,3,3,2",
             "conv2d_transpose(Input=x, Filter=y) -> (Output=out)",
             "strides=[2, 1], paddings=[1, 0]"),
      Binary("conv2d_transpose_in_groups", "1,4,2,2", "4,2,2,2",
             "conv2d_transpose(Input=x, Filter=y) -> (Output=out)",
             "groups=2, strides=[2, 2], output_size=[5, 4]"),
      Binary("conv3d", "1,2,3,4,3", "2,2,2,3,2", "conv3d(Input=x, Filter=y) -> (Output=out)",
             "strides=[1, 2, 1], paddings=[1, 0, 1]"),
      Binary("conv3d_in_groups", "1,4,2,3,3", "2,2,2,2,2",
             "conv3d(Input=x, Filter=y) -> (Output=out)",
             "groups=2, paddings=[0, 1, 1, 0, 0, 0], dilations=[1, 2, 1]"),
      Binary("conv3d_channels_last", "1,2,3,3,2", "2,2,2,2,2",
             "conv3d(Input=x, Filter=y) -> (Output=out)",
             "data_format=\"NDHWC\", padding_algorithm=\"SAME\""),
      Binary("conv3d_transpose", "1,2,2,3,2", "2,2,2,2,3",
             "conv3d_transpose(Input=x, Filter=y) -> (Output=out)",
             "strides=[2, 1, 2], paddings=[1, 0, 1], output_size=[3, 4, 4]"),
      Volume("pool3d_max", "pool3d(X=x) -> (Out=out)",
             "pooling_type=\"max\", ksize=[2, 2, 2], strides=[1, 2, 1], paddings=[0, 1, 0]"),
      Volume("pool3d_average", "pool3d(X=x) -> (Out=out)",
             "pooling_type=\"avg\", ksize=[2, 3, 2], strides=[2, 2, 1], paddings=[1, 1, 0], "
             "exclusive=false"),
      Volume("pool3d_adaptive", "pool3d(X=x) -> (Out=out)",
             "pooling_type=\"avg\", ksize=[2, 2, 2], adaptive=true"),
      Volume("max_pool3d_with_index", "max_pool3d_with_index(X=x) -> (Out=out, Mask=m)",
             "ksize=[2, 2, 2], paddings=[1, 0, 1]"),
      {"max_pool2d_with_index", R"(
         var x f32[1,2,5,4] persistable
         max_pool2d_with_index(X=x) -> (Out=out, Mask=m) {ksize=[3, 2], strides=[2, 1]})"},
      {"lrn", R"(
         var x f32[1,4,2,2] persistable
         lrn(X=x) -> (Out=out, MidOut=m) {n=3, k=1.0, alpha=0.5, beta=0.75})"},
      {"lrn_channels_last", R"(
         var x f32[1,2,2,4] persistable
         lrn(X=x) -> (Out=out, MidOut=m) {n=5, k=2.0, alpha=0.2, data_format="NHWC"})"},
      Binary("huber_loss", "3,4", "3,4", "huber_loss(X=x, Y=y) -> (Out=out, Residual=r)",
             "delta=0.5"),
      Image("pool2d_max", "pooling_type=\"max\", ksize=[3, 2], strides=[2, 1], paddings=[1, 0]"),
      Image("pool2d_average",
            "pooling_type=\"avg\", ksize=[3, 3], strides=[2, 2], paddings=[1, 1], "
            "ceil_mode=true"),
      Image("pool2d_average_with_padding",
            "pooling_type=\"avg\", ksize=[3, 3], strides=[2, 2], paddings=[1, 1], exclusive=false"),
      Image("pool2d_global", "pooling_type=\"avg\", ksize=[1, 1], global_pooling=true"),
      Image("pool2d_adaptive", "pooling_type=\"avg\", ksize=[3, 2], adaptive=true"),
      {"batch_norm", BatchNorm("")},
      {"batch_norm_channels_last", BatchNorm("data_layout=\"NHWC\"")},
      {"batch_norm_global", BatchNorm("use_global_stats=true"), "", {0.5, 2}},
      {"folded_batch_norm", FoldedBatchNorm(""), "", {0.5, 2}},
      {"folded_batch_norm_channels_last", FoldedBatchNorm("data_layout=\"NHWC\""), "", {0.5, 2}},
      {"layer_norm", R"(
         var x f32[2,3,2] persistable
         var scale f32[6] persistable
         var bias f32[6] persistable
         layer_norm(X=x, Scale=scale, Bias=bias) -> (Y=out, Mean=m, Variance=v))"},
      {"layer_norm_of_the_last_axis", R"(
         var x f32[2,3,4] persistable
         layer_norm(X=x) -> (Y=out, Mean=m, Variance=v) {begin_norm_axis=2})"},
      {"instance_norm", R"(
         var x f32[2,3,2,2] persistable
         var scale f32[3] persistable
         var bias f32[3] persistable
         instance_norm(X=x, Scale=scale, Bias=bias) -> (Y=out, SavedMean=m, SavedVariance=v))"},
      GroupNorm("", "2,4,2,2", "groups=2"),
      GroupNorm("_channels_last", "2,3,4", "groups=2, data_layout=\"NHWC\", epsilon=0.1"),
      {"group_norm_alone", R"(
         var x f32[2,4,3] persistable
         group_norm(X=x) -> (Y=out, Mean=m, Variance=v) {groups=2})"},
      Unary("reduce_sum", "dim=[1]"),
      Unary("reduce_mean", "dim=[0], keep_dim=true"),
      Unary("reduce_mean", "reduce_all=true"),
      {"reshape2", R"(
         var x f32[2,3] persistable
         reshape2(X=x) -> (Out=out, XShape=s) {shape=[3, -1]})"},
      {"flatten2", R"(
         var x f32[2,3,2] persistable
         flatten2(X=x) -> (Out=out, XShape=s))"},
      {"flatten_contiguous_range", R"(
         var x f32[2,3,2] persistable
         flatten_contiguous_range(X=x) -> (Out=out, XShape=s) {start_axis=0, stop_axis=1})"},
      {"squeeze2", R"(
         var x f32[2,1,2] persistable
         squeeze2(X=x) -> (Out=out, XShape=s) {axes=[1]})"},
      {"unsqueeze2", R"(
         var x f32[2,3] persistable
         unsqueeze2(X=x) -> (Out=out, XShape=s) {axes=[1]})"},
      {"transpose2", R"(
         var x f32[2,3,2] persistable
         transpose2(X=x) -> (Out=out, XShape=s) {axis=[2, 0, 1]})"},
      {"concat", R"(
         var x f32[2,3] persistable
         var y f32[2,2] persistable
         concat(X=[x, y, x]) -> (Out=out) {axis=1})"},
      {"split", R"(
         var x f32[2,5] persistable
         split(X=x) -> (Out=[a, b, c]) {axis=1, sections=[2, 2, -1]}
         elementwise_mul(X=a, Y=b) -> (Out=d)
         elementwise_mul(X=d, Y=c) -> (Out=out))"},
      {"slice", R"(
         var x f32[3,4] persistable
         slice(Input=x) -> (Out=out) {axes=[0, 1], starts=[1, -3], ends=[2, 9], decrease_axis=[0]})"},
      {"stack", R"(
         var x f32[2,3] persistable
         var y f32[2,3] persistable
         stack(X=[x, y]) -> (Y=out) {axis=1})"},
      {"lookup_table", R"(
         var w f32[4,2] persistable
         var ids i64[3,1]
         lookup_table(W=w, Ids=ids) -> (Out=out) {padding_idx=2L})",
       "ids i64[3,1] 3 2 3"},
      {"lookup_table_v2", R"(
         var w f32[4,2] persistable
         var ids i64[2,2]
         lookup_table_v2(W=w, Ids=ids) -> (Out=out))",
       "ids i64[2,2] 3 0 3 1"},
      {"top_k", R"(
         var x f32[2,4] persistable
         top_k(X=x) -> (Out=out, Indices=i) {k=2})"},
      {"top_k_v2", R"(
         var x f32[3,2] persistable
         top_k_v2(X=x) -> (Out=out, Indices=i) {k=2, axis=0, largest=false})"},
      {"cos_sim",
       R"(
         var x f32[3,2] persistable
         var y f32[1,2] persistable
         cos_sim(X=x, Y=y) -> (Out=out, XNorm=xn, YNorm=yn))",
       "",
       {0.5, 2},
       {1008005}},
      {"dropout", R"(
         var x f32[2,3] persistable
         dropout(X=x) -> (Out=out, Mask=m) {dropout_prob=0.4, fix_seed=true, seed=3})"},
      {"dropout_upscaled", R"(
         var x f32[2,3] persistable
         dropout(X=x) -> (Out=out, Mask=m) {dropout_prob=0.4, fix_seed=true, seed=3,
           dropout_implementation="upscale_in_train"})"},
      {"a_value_read_twice", R"(
         var x f32[3] persistable
         square(X=x) -> (Out=a)
         tanh(X=a) -> (Out=b)
         elementwise_mul(X=a, Y=b) -> (Out=c)
         sum(X=[a, c, a]) -> (Out=out))"},
      {"cross_entropy",
       R"(
         var x f32[3,4] persistable
         var label i64[3,1]
         cross_entropy(X=x, Label=label) -> (Y=out))",
       "label i64[3,1] 2 0 -100",
       {0.1, 0.9}},
      {"cross_entropy_soft",
       R"(
         var x f32[2,3] persistable
         var label f32[2,3]
         cross_entropy(X=x, Label=label) -> (Y=out) {soft_label=true})",
       "label f32[2,3] 0.5 0.25 0.25 0 1 0",
       {0.1, 0.9}},
      {"cross_entropy2",
       R"(
         var x f32[3,4] persistable
         var label i64[3,1]
         cross_entropy2(X=x, Label=label) -> (Y=out, MatchX=m, XShape=s))",
       "label i64[3,1] 2 0 -100",
       {0.1, 0.9}},
      {"softmax_with_cross_entropy", R"(
         var x f32[3,4] persistable
         var label i64[3,1]
         softmax_with_cross_entropy(Logits=x, Label=label) -> (Loss=out, Softmax=s))",
       "label i64[3,1] 2 0 -100"},
      {"softmax_with_cross_entropy_along_an_axis", R"(
         var x f32[2,3,2] persistable
         var label i64[2,1,2]
         softmax_with_cross_entropy(Logits=x, Label=label) -> (Loss=out, Softmax=s) {axis=1})",
       "label i64[2,1,2] 2 0 1 2"},
      {"softmax_with_cross_entropy_soft", R"(
         var x f32[2,3] persistable
         var label f32[2,3]
         softmax_with_cross_entropy(Logits=x, Label=label) -> (Loss=out, Softmax=s) {
           soft_label=true})",
       "label f32[2,3] 0.5 0.25 0.25 0 1 0"},
      {"smooth_l1_loss", R"(
         var x f32[3,4] persistable
         var y f32[3,4] persistable
         var a f32[3,4] stop_gradient
         smooth_l1_loss(X=x, Y=y, InsideWeight=a, OutsideWeight=a) -> (Diff=d, Out=out) {
           sigma=1.5})"},
      {"roi_align",
       R"(
         var x f32[1,2,5,6] persistable
         var rois f32[3,4] lod=1 stop_gradient
         roi_align(X=x, ROIs=rois) -> (Out=out) {pooled_height=2, pooled_width=3,
           spatial_scale=0.5})",
       kRegions},
      {"roi_align_of_so_many_samples",
       R"(
         var x f32[1,2,5,6] persistable
         var rois f32[3,4] lod=1 stop_gradient
         roi_align(X=x, ROIs=rois) -> (Out=out) {pooled_height=2, pooled_width=3,
           sampling_ratio=2, aligned=true})",
       kRegions,
       {},
       {2006002}},
      {"psroi_pool",
       R"(
         var x f32[1,8,5,6] persistable
         var rois f32[3,4] lod=1 stop_gradient
         psroi_pool(X=x, ROIs=rois) -> (Out=out) {output_channels=2, pooled_height=2,
           pooled_width=2, spatial_scale=0.5})",
       kRegions},
      {"roi_pool",
       R"(
         var x f32[1,2,5,6] persistable
         var rois f32[3,4] lod=1 stop_gradient
         roi_pool(X=x, ROIs=rois) -> (Out=out, Argmax=places) {pooled_height=2, pooled_width=2,
           spatial_scale=0.5})",
       kRegions},
      GridSampler("zeros", true),
      GridSampler("zeros", false),
      GridSampler("border", true),
      GridSampler("border", false),
      GridSampler("reflection", true),
      GridSampler("reflection", false),
      {"deformable_conv", R"(
         var x f32[2,4,3,4] persistable
         var w f32[2,2,2,2] persistable
         var o f32[2,16,2,3] persistable
         var m f32[2,8,2,3] persistable
         deformable_conv(Input=x, Filter=w, Offset=o, Mask=m) -> (Output=out) {groups=2,
           deformable_groups=2})"},
      {"deformable_conv_v1", R"(
         var x f32[1,2,4,4] persistable
         var w f32[3,2,2,2] persistable
         var o f32[1,8,3,3] persistable
         deformable_conv_v1(Input=x, Filter=w, Offset=o) -> (Output=out) {strides=[2, 2],
           paddings=[1, 1]})"},
  };
}

}  // namespace

std::vector<GradientCase> GradientCases() {
  std::vector<GradientCase> cases = CasesOfMostOps();
  for (GradientCase& of_sequences : SequenceGradientCases()) {
    cases.push_back(std::move(of_sequences));
  }
  for (GradientCase& of_places : PlaceGradientCases()) cases.push_back(std::move(of_places));
  for (GradientCase& of_losses : LossGradientCases()) cases.push_back(std::move(of_losses));
  for (GradientCase& of_detectors : DetectorGradientCases()) {
    cases.push_back(std::move(of_detectors));
  }
  for (GradientCase& of_blocks : BlockGradientCases()) cases.push_back(std::move(of_blocks));
  return cases;
}

}  // namespace fixpoint::reference
