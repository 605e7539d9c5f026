// Any number of threads gives the same bits, whatever the process did before: a kernel of oneDNN
// shares its work out when it is planned.

#include "runtime/kernels/threads.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/backward_precision.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

constexpr char kStep[] = R"(program version=2006002
  block 0 {
    conv2d(Input=x, Filter=w) -> (Output=y) {paddings=[1, 1]}
    relu(X=y) -> (Out=z)
    relu_grad(Out=z, Out@GRAD=z) -> (X@GRAD=dy)
    conv2d_grad(Input=x, Filter=w, Output@GRAD=dy) -> (Input@GRAD=dx, Filter@GRAD=dw) {
      paddings=[1, 1]}
    mul(X=m, Y=n) -> (Out=p)
    mul_grad(X=m, Y=n, Out@GRAD=p) -> (X@GRAD=dm, Y@GRAD=dn)
  })";

Tensor Drawn(std::vector<int64_t> dims, uint32_t number) {
  Tensor tensor = *Tensor::Allocate(VarType::FP32, std::move(dims));
  const RandomStream random(1, number, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutable_data<float>()[i] = static_cast<float>(2 * random.Uniform(i) - 1);
  }
  return tensor;
}

// Gradients of a new executor in a process whose threads were `before`.
std::vector<Tensor> Gradients(int threads, BackwardPrecision backward, int before) {
  const Program program = ParsedProgram(kStep);
  Scope scope;
  scope.Set("x", Drawn({8, 32, 16, 16}, 1));
  scope.Set("w", Drawn({32, 32, 3, 3}, 2));
  scope.Set("m", Drawn({64, 500}, 3));
  scope.Set("n", Drawn({500, 300}, 4));
  kernels::UseThreads(before);
  ExecutorOptions options;
  options.threads = threads;
  options.backward = backward;
  const auto executor = Executor::Create(program, &scope, options);
  EXPECT_TRUE(executor.ok()) << executor.status();
  auto run = (*executor)->Run({}, {"dx", "dw", "dm", "dn"}, 0);
  EXPECT_TRUE(run.ok()) << run.status();
  // The setting is the host's.
  EXPECT_EQ(kernels::GrantedThreads(), before);
  return *std::move(run);
}

class Threads : public testing::TestWithParam<BackwardPrecision> {};

TEST_P(Threads, OfAnyNumberGiveTheSameGradients) {
  const BackwardPrecision backward = GetParam();
  if (!CheckBackward(backward).ok()) GTEST_SKIP() << CheckBackward(backward);
  const std::vector<Tensor> first = Gradients(/*threads=*/1, backward, /*before=*/2);
  for (const int threads : {1, 2, 3}) {
    for (const int before : {1, 2, 3, 4}) {
      const std::vector<Tensor> again = Gradients(threads, backward, before);
      for (size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(again[i].bytes(), first[i].bytes())
            << i << " on " << threads << " after " << before;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, Threads,
                         testing::Values(BackwardPrecision::kFloat, BackwardPrecision::kBfloat16),
                         [](const auto& info) {
                           return std::string(BackwardPrecisionName(info.param));
                         });

// What is thrown in a loop of OpenMP, and not caught there, ends the process.
TEST(RunOnThreads, ThrowsWhatOneOfThemThrows) {
  std::vector<int> done(4);
  const auto run = [&] {
    kernels::RunOnThreads(4, 4, [&](int thread, int64_t, int64_t) {
      if (thread == 2) throw std::bad_alloc();
      done[thread] = 1;
    });
  };
  EXPECT_THROW(run(), std::bad_alloc);
  EXPECT_EQ(done, std::vector<int>({1, 1, 0, 1}));
}

// Ops on tensors large enough for three threads.
struct Case {
  std::string name;
  std::string ops;
};

const Case kCases[] = {
    {"Arithmetic", R"(
  scale(X=x) -> (Out=scaled) {scale=0.3, bias=0.1}
  sum(X=[x, y, x]) -> (Out=total)
  cast(X=x) -> (Out=whole) {in_dtype=5, out_dtype=3}
  squared_l2_norm(X=x) -> (Out=norm)
  sigmoid_cross_entropy_with_logits(X=x, Label=y) -> (Out=loss)
  dropout(X=x) -> (Out=kept, Mask=mask) {dropout_prob=0.3}
  dropout_grad(Mask=mask, Out@GRAD=y) -> (X@GRAD=dx) {dropout_prob=0.3})"},
    {"Elementwise", R"(
  elementwise_add(X=x, Y=y) -> (Out=same)
  elementwise_add(X=x, Y=channels) -> (Out=by_channel) {axis=1}
  elementwise_mul_grad(X=x, Y=channels, Out@GRAD=y) -> (X@GRAD=da, Y@GRAD=d_channels) {
    axis=1}
  elementwise_mul_grad(X=rows, Y=columns, Out@GRAD=others) -> (X@GRAD=db, Y@GRAD=d_columns)
  elementwise_add_grad(X=narrow, Y=ten, Out@GRAD=narrow) -> (X@GRAD=dc, Y@GRAD=d_ten)
  elementwise_mul_grad(X=x, Y=one, Out@GRAD=y) -> (X@GRAD=dd, Y@GRAD=d_one)
  less_than(X=rows, Y=others) -> (Out=less))"},
    {"Resizing", R"(
  nearest_interp(X=x) -> (Out=a) {out_h=41, out_w=57}
  bilinear_interp(X=x) -> (Out=b) {out_h=41, out_w=57}
  bilinear_interp_grad(X=x, Out@GRAD=b) -> (X@GRAD=db) {out_h=41, out_w=57}
  pad2d(X=x) -> (Out=c) {paddings=[1, 2, 2, 1], mode="reflect"}
  pad2d_grad(X=x, Out@GRAD=c) -> (X@GRAD=dc) {paddings=[1, 2, 2, 1], mode="reflect"})"},
    {"Activations", R"(
  gelu(X=x) -> (Out=a)
  relu(X=x) -> (Out=b)
  relu_grad(Out=b, Out@GRAD=y) -> (X@GRAD=db)
  prelu(X=x, Alpha=channels) -> (Out=c) {mode="channel"}
  prelu_grad(X=x, Alpha=channels, Out@GRAD=y) -> (X@GRAD=dc, Alpha@GRAD=d_channels) {
    mode="channel"}
  prelu_grad(X=x, Alpha=one, Out@GRAD=y) -> (X@GRAD=dd, Alpha@GRAD=d_one) {mode="all"})"},
    {"Reductions", R"(
  reduce_sum(X=x) -> (Out=all) {reduce_all=true}
  reduce_mean(X=x) -> (Out=of_channels) {dim=[0, 2, 3]}
  reduce_max(X=rows) -> (Out=of_columns) {dim=[0]}
  reduce_sum(X=rows) -> (Out=of_rows) {dim=[1]}
  reduce_sum(X=narrow) -> (Out=of_ten) {dim=[0]}
  reduce_mean_grad(X=rows, Out@GRAD=columns) -> (X@GRAD=d_rows) {dim=[0]})"},
    {"BatchNorm", R"(
  var mean f32[20] persistable
  var variance f32[20] persistable
  fill_constant() -> (Out=mean) {shape=[20L], dtype=5, value=0.0}
  fill_constant() -> (Out=variance) {shape=[20L], dtype=5, value=1.0}
  batch_norm(X=x, Scale=channels, Bias=channels, Mean=mean, Variance=variance) -> (Y=z,
    MeanOut=mean, VarianceOut=variance, SavedMean=saved_mean,
    SavedVariance=saved_variance)
  relu(X=z) -> (Out=out)
  relu_grad(Out=out, Out@GRAD=y) -> (X@GRAD=dz)
  batch_norm_grad(X=x, Y@GRAD=dz, Scale=channels, Bias=channels, MeanOut=mean,
    VarianceOut=variance, SavedMean=saved_mean, SavedVariance=saved_variance) -> (
      X@GRAD=dx, Scale@GRAD=d_scale, Bias@GRAD=d_bias))"},
    {"Norms", R"(
  layer_norm(X=rows, Scale=columns, Bias=columns) -> (Y=a, Mean=a_mean, Variance=a_variance)
  layer_norm_grad(X=rows, Mean=a_mean, Variance=a_variance, Scale=columns, Bias=columns,
    Y@GRAD=others) -> (X@GRAD=da, Scale@GRAD=da_scale, Bias@GRAD=da_bias)
  group_norm(X=x, Scale=channels, Bias=channels) -> (Y=b, Mean=b_mean,
    Variance=b_variance) {groups=4}
  instance_norm(X=x, Scale=channels, Bias=channels) -> (Y=c, SavedMean=c_mean,
    SavedVariance=c_deviation)
  instance_norm_grad(X=x, Scale=channels, SavedMean=c_mean, SavedVariance=c_deviation,
    Y@GRAD=y) -> (X@GRAD=dc, Scale@GRAD=dc_scale, Bias@GRAD=dc_bias))"},
    {"Pooling", R"(
  pool2d(X=x) -> (Out=largest) {pooling_type="max", ksize=[3, 3], strides=[2, 2]}
  pool2d_grad(X=x, Out=largest, Out@GRAD=largest) -> (X@GRAD=da) {
    pooling_type="max", ksize=[3, 3], strides=[2, 2]}
  pool2d(X=x) -> (Out=average) {pooling_type="avg", ksize=[2, 2], strides=[2, 2]}
  pool2d_grad(X=x, Out=average, Out@GRAD=average) -> (X@GRAD=db) {
    pooling_type="avg", ksize=[2, 2], strides=[2, 2]}
  pool2d(X=image) -> (Out=of_one) {pooling_type="max", ksize=[3, 3], strides=[2, 2]}
  pool2d_grad(X=image, Out=of_one, Out@GRAD=of_one) -> (X@GRAD=dc) {
    pooling_type="max", ksize=[3, 3], strides=[2, 2]}
  pool2d(X=image) -> (Out=halved) {pooling_type="avg", ksize=[2, 2], strides=[2, 2]}
  pool2d_grad(X=image, Out=halved, Out@GRAD=halved) -> (X@GRAD=dd) {
    pooling_type="avg", ksize=[2, 2], strides=[2, 2]})"},
    {"Volumes", R"(
  conv3d(Input=volumes, Filter=filters) -> (Output=a) {paddings=[1, 1, 1]}
  conv3d_grad(Input=volumes, Filter=filters, Output@GRAD=a) -> (Input@GRAD=da,
    Filter@GRAD=d_filters) {paddings=[1, 1, 1]})"},
    {"RandomNumbers", R"(
  uniform_random() -> (Out=a) {shape=[40001L], dtype=5, min=-1.0, max=2.0, seed=7}
  gaussian_random() -> (Out=b) {shape=[40001L], dtype=5, mean=1.0, std=2.0, seed=7}
  truncated_gaussian_random() -> (Out=c) {shape=[40001L], dtype=5, mean=1.0, std=2.0, seed=7})"},
    {"Softmax", R"(
  softmax(X=rows) -> (Out=a)
  softmax_grad(Out=a, Out@GRAD=others) -> (X@GRAD=da)
  softmax(X=x) -> (Out=b) {axis=1}
  log_softmax(X=rows) -> (Out=c)
  softmax_with_cross_entropy(Logits=rows, Label=a) -> (Softmax=d, Loss=loss) {
    soft_label=true})"},
    {"Copies", R"(
  transpose2(X=x) -> (Out=a, XShape=a_shape) {axis=[0, 2, 3, 1]}
  transpose2(X=rows) -> (Out=b, XShape=b_shape) {axis=[1, 0]}
  concat(X=[x, y]) -> (Out=c) {axis=1}
  slice(Input=x) -> (Out=d) {axes=[2], starts=[3], ends=[30]}
  lookup_table(W=rows, Ids=ids) -> (Out=e)
  lookup_table_grad(W=rows, Ids=ids, Out@GRAD=e) -> (W@GRAD=d_rows))"},
    {"Samples", R"(
  grid_sampler(X=x, Grid=grid) -> (Output=a)
  grid_sampler_grad(X=x, Grid=grid, Output@GRAD=a) -> (X@GRAD=da, Grid@GRAD=d_grid)
  roi_align(X=x, ROIs=regions, RoisNum=counts) -> (Out=b) {pooled_height=7, pooled_width=7,
    spatial_scale=16.0})"},
    {"Quantizers", R"(
  fake_quantize_abs_max(X=x) -> (Out=a, OutScale=a_scale)
  fake_dequantize_max_abs(X=a, Scale=a_scale) -> (Out=values) {max_range=127.0}
  fake_channel_wise_quantize_abs_max(X=rows) -> (Out=b, OutScale=b_scale) {quant_axis=0}
  fake_channel_wise_quantize_abs_max(X=rows) -> (Out=c, OutScale=c_scale) {quant_axis=1}
  fake_quantize_dequantize_abs_max(X=x) -> (Out=d, OutScale=d_scale)
  fake_quantize_dequantize_stochastic_abs_max(X=x) -> (Out=e, OutScale=e_scale)
  fake_row_wise_quantize_min_max(X=rows) -> (Out=f, OutScale=f_scale, OutZeroPoint=f_zero) {
    quant_axis=0}
  fake_row_wise_dequantize(X=f, Scale=f_scale, ZeroPoint=f_zero) -> (Out=f_rows) {quant_axis=0}
  fake_row_wise_quantize_min_max(X=rows) -> (Out=g, OutScale=g_scale, OutZeroPoint=g_zero) {
    quant_axis=1}
  fake_row_wise_dequantize(X=g, Scale=g_scale, ZeroPoint=g_zero) -> (Out=g_rows) {quant_axis=1}
  lookup_table(W=f_rows, Ids=ids) -> (Out=looked_up)
  fake_quantize_dequantize_at_range_grad(X=x, InScale=a_scale, Out@GRAD=y) -> (X@GRAD=de,
    InScale@GRAD=de_scale))"},
    {"Optimizers", R"(
  sgd(Param=x, Grad=y, LearningRate=one) -> (ParamOut=a)
  momentum(Param=x, Grad=y, Velocity=y, LearningRate=one) -> (ParamOut=b,
    VelocityOut=b_velocity) {mu=0.9}
  lamb(Param=x, Grad=y, LearningRate=one, Moment1=y, Moment2=a, Beta1Pow=one_more,
    Beta2Pow=one_more) -> (ParamOut=c, Moment1Out=c1, Moment2Out=c2, Beta1PowOut=c3,
    Beta2PowOut=c4) {weight_decay=0.01})"},
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// What the ops read, drawn once for all of them.
const NamedTensors& Inputs() {
  static const NamedTensors* const inputs = [] {
    const std::pair<const char*, std::vector<int64_t>> drawn[] = {{"x", {23, 20, 33, 31}},
                                                                  {"y", {23, 20, 33, 31}},
                                                                  {"image", {1, 19, 256, 254}},
                                                                  {"volumes", {5, 8, 9, 10, 11}},
                                                                  {"filters", {12, 8, 3, 3, 3}},
                                                                  {"rows", {1901, 251}},
                                                                  {"others", {1901, 251}},
                                                                  {"narrow", {50001, 10}},
                                                                  {"channels", {20}},
                                                                  {"columns", {251}},
                                                                  {"ten", {10}},
                                                                  {"one", {1}},
                                                                  {"one_more", {1}},
                                                                  {"grid", {23, 40, 31, 2}},
                                                                  {"regions", {300, 4}}};
    auto* const all = new NamedTensors;
    uint32_t number = 0;
    for (const auto& [name, dims] : drawn) all->emplace_back(name, Drawn(dims, ++number));
    Tensor ids = *Tensor::Allocate(VarType::INT64, {9001, 1});
    for (int64_t i = 0; i < ids.size(); ++i) ids.mutable_data<int64_t>()[i] = i * 7 % 1901;
    all->emplace_back("ids", std::move(ids));
    Tensor counts = *Tensor::Allocate(VarType::INT32, {23});
    for (int64_t i = 0; i < 23; ++i) counts.mutable_data<int32_t>()[i] = i < 22 ? 13 : 14;
    all->emplace_back("counts", std::move(counts));
    return all;
  }();
  return *inputs;
}

class Loops : public testing::TestWithParam<Case> {
 protected:
  // What the ops write.
  static std::vector<Tensor> Outputs(int threads) {
    const Program program =
        ParsedProgram(absl::StrCat("program version=2006002\nblock 0 {\n", GetParam().ops, "\n}"));
    Scope scope;
    for (const auto& [name, input] : Inputs()) scope.Set(name, *input.Clone());
    std::vector<std::string> written;
    for (const Op& op : program.block(0).ops()) {
      for (const Argument* output : op.outputs()) written.emplace_back(output->name());
    }
    ExecutorOptions options;
    options.threads = threads;
    const auto executor = Executor::Create(program, &scope, options);
    EXPECT_TRUE(executor.ok()) << executor.status();
    auto run = (*executor)->Run({}, written, 0);
    EXPECT_TRUE(run.ok()) << run.status();
    return *std::move(run);
  }
};

TEST_P(Loops, GiveTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<Tensor> on_one = Outputs(1);
  for (const int threads : {2, 3}) {
    const std::vector<Tensor> on_several = Outputs(threads);
    ASSERT_EQ(on_several.size(), on_one.size());
    for (size_t i = 0; i < on_one.size(); ++i) {
      EXPECT_EQ(on_several[i].bytes(), on_one[i].bytes()) << i << " on " << threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Loops, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint::executor
