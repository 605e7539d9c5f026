// A user's own ops, defined by their schemas and kernels alone: a product is planned, quantized and
// lowered, and an activation that is a stage is folded into it, with the same bits as separate
// steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "ops/op_traits.h"
#include "ops/quantizer_table.h"
#include "proto/base/status_macros.h"
#include "proto/text/program_text.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/on_integers.h"
#include "runtime/executor/ops/product.h"
#include "runtime/executor/plan.h"
#include "runtime/kernels/activation.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/wide_sums.h"
#include "runtime/reference/interpreter.h"
#include "runtime/reference/kernels.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/freeze/freeze.h"
#include "transpiler/lower/lower.h"
#include "transpiler/plan/target.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// x where x > 0, else a quarter of it.
constexpr float kSlope = 0.25f;

Activation OwnRamp(const OpAttributes&) { return {ActivationFunction::kLeakyRelu, kSlope}; }

absl::Status InferOwnProduct(InferContext& op) {
  const TensorInfo rows = op.Input("Rows");
  const TensorInfo table = op.Input("Table");
  op.SetOutput("Sums", rows.dtype, std::nullopt);
  if (rows.rank() != 2 || table.rank() != 2) return absl::OkStatus();
  op.SetOutput("Sums", rows.dtype, Dims{rows.dims[0], table.dims[1]});
  return absl::OkStatus();
}

std::vector<OpSchema> OwnOps() {
  OpList ops;
  ProductTrait product;
  product.form = ProductTrait::Form::kFlattened;
  product.activation = "Rows";
  product.weight = "Table";
  product.output = "Sums";
  ops.Define("own_product(Rows, Table) -> (Sums)")
      .Doc("Rows [N,K] times Table [K,M].")
      .Product(product)
      .QuantizableInput("Rows", SlotRole::ACTIVATION)
      .QuantizableInput("Table", SlotRole::WEIGHT)
      .QuantizableOutputs({"Sums"})
      .Infer(InferOwnProduct);
  product.activation_rows = "row_dims";
  ops.Define("own_deep_product(Rows, Table) -> (Sums)")
      .Doc("The same of Rows [N,M,K].")
      .Product(product)
      .Attr("row_dims", Int(2))
      .Infer(SameAs("Rows", {"Sums"}));
  const auto stages = [](const OpAttributes& op) { return StagesOf(OwnRamp(op)); };
  ops.Define("own_ramp(From) -> (To)")
      .Doc("To = From where that is above 0, else a quarter of it.")
      .Stage({"From", "To", /*normalizes=*/false, stages})
      .Infer(SameAs("From", {"To"}));
  return ops.Build();
}

absl::Status PlanOwnProduct(executor::OpPlanner& op) {
  using executor::Layout;
  ASSIGN_OR_RETURN(const executor::TensorType type, op.OutputType("Sums"));
  ASSIGN_OR_RETURN(const kernels::ProductShape shape,
                   executor::FullyConnectedShape(op, "Rows", 1, "Table"));
  const executor::EpilogueInput output{"Sums", type, /*channel_axis=*/1, Layout::kRowMajor};
  const int64_t operations = 2 * shape.out_size() * shape.inner;
  ASSIGN_OR_RETURN(
      const bool is_planned,
      executor::PlanOnIntegers(
          op, output, operations,
          [&](const auto&... coding) { return kernels::PlanIntegerProduct(shape, coding...); },
          [&](const kernels::Epilogue& epilogue) {
            return kernels::WideSums::Plan(shape, epilogue);
          }));
  if (is_planned) return absl::OkStatus();
  ASSIGN_OR_RETURN(const executor::Buffer x, op.ReadFloats("Rows"));
  ASSIGN_OR_RETURN(const executor::Buffer y, op.ReadFloats("Table"));
  ASSIGN_OR_RETURN(const executor::Buffer out, op.Write("Sums"));
  return executor::AddProduct(op, shape, /*alpha=*/1, x, y, out);
}

absl::Status PlanOwnRamp(executor::OpPlanner& op) {
  ASSIGN_OR_RETURN(const executor::Buffer x, op.ReadFloats("From"));
  ASSIGN_OR_RETURN(const executor::Buffer y, op.Write("To"));
  op.AddStep(
      {{x}, {y}, [=](const executor::StepContext& run) {
         kernels::Activate({ActivationFunction::kLeakyRelu, kSlope}, run.Floats(x), run.Floats(y));
         return absl::OkStatus();
       }});
  return absl::OkStatus();
}

absl::Status RunOwnProduct(reference::OpRun& op) {
  const reference::Array& rows = op.Input("Rows");
  const reference::Array& table = op.Input("Table");
  const int64_t inner = table.dims[0];
  const int64_t columns = table.dims[1];
  reference::Array sums(rows.dtype, {rows.dims[0], columns});
  for (int64_t i = 0; i < rows.dims[0] * columns; ++i) {
    for (int64_t k = 0; k < inner; ++k) {
      sums[i] += rows[i / columns * inner + k] * table[k * columns + i % columns];
    }
  }
  op.SetOutput("Sums", std::move(sums));
  return absl::OkStatus();
}

absl::Status RunOwnRamp(reference::OpRun& op) {
  reference::Array to = op.Input("From");
  for (int64_t i = 0; i < to.size(); ++i) to[i] = to[i] > 0 ? to[i] : to[i] * kSlope;
  op.SetOutput("To", std::move(to));
  return absl::OkStatus();
}

// Done once for all tests, before any program is read.
void AddOwnOps() {
  static const bool are_added = [] {
    AddOpSchemas(OwnOps());
    executor::AddOpPlans({{"own_product", PlanOwnProduct}, {"own_ramp", PlanOwnRamp}});
    reference::AddKernels({{"own_product", RunOwnProduct}, {"own_ramp", RunOwnRamp}});
    return true;
  }();
  EXPECT_TRUE(are_added);
}

// The target for integers, with the product added.
Target OwnTarget() {
  Target target = *BuiltInTarget("onednn_int8");
  Target::QuantizedOp& op = *target.add_ops();
  op.add_types("own_product");
  Target::Slot& rows = *op.add_inputs();
  rows.set_name("Rows");
  rows.set_role(SlotRole::ACTIVATION);
  Target::Slot& table = *op.add_inputs();
  table.set_name("Table");
  table.set_role(SlotRole::WEIGHT);
  return target;
}

constexpr char kNetwork[] = R"(
  var x f32[-1,3]
  var w f32[3,4] persistable
  var y f32[-1,4]
  var z f32[-1,4]
  var v f32[4,2] persistable
  var out f32[-1,2]
  own_product(Rows=x, Table=w) -> (Sums=y) {op_role=0}
  own_ramp(From=y) -> (To=z) {op_role=0}
  own_product(Rows=z, Table=v) -> (Sums=out) {op_role=0}
)";

Scope Trained() {
  Scope scope;
  scope.Set("w", Tensor::FromValues<float>({3, 4}, {0.5f, -1, 0.25f, 0.75f, -0.125f, 1, 0.375f,
                                                    -0.5f, 0.875f, -0.75f, 1, 0.0625f}));
  scope.Set("v", Tensor::FromValues<float>({4, 2}, {1, -0.5f, 0.25f, 0.75f, -1, 0.5f, 0.125f, 1}));
  scope.Set("x@scale", Tensor::FromValues<float>({1}, {2}));
  scope.Set("z@scale", Tensor::FromValues<float>({1}, {1.5f}));
  return scope;
}

std::vector<std::string> StepsOf(executor::Executor& run, absl::Span<const Feed> feeds) {
  const auto plan = run.PlanOf(feeds, {"out"});
  EXPECT_TRUE(plan.ok()) << plan.status();
  std::vector<std::string> steps;
  for (const executor::Step& step : (*plan)->steps) steps.push_back(step.name);
  return steps;
}

TEST(OwnOps, ArePlannedQuantizedFoldedAndLowered) {
  AddOwnOps();
  Program program = ParsedProgram(kNetwork);
  TranspileOptions options;
  options.target = OwnTarget();
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  const std::string quantized = PrintProgram(program.Proto());
  EXPECT_THAT(quantized, HasSubstr("own_product(Rows=x.quantized.dequantized, "
                                   "Table=w.quantized.dequantized)"));

  Scope scope = Trained();
  FreezeOptions freeze;
  freeze.fetches = {"out"};
  absl::StatusOr<FrozenModel> portable = Freeze(program, scope, freeze);
  ASSERT_TRUE(portable.ok()) << portable.status();
  absl::StatusOr<LoweredModel> lowered = Lower(portable->program, portable->scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string text = PrintProgram(lowered->program.Proto());
  EXPECT_THAT(text, HasSubstr("epilogue=[\"leaky_relu\""));
  EXPECT_THAT(text, Not(HasSubstr("own_")));

  const Tensor x = Tensor::FromValues<float>({2, 3}, {0.5f, -2.5f, 1, 0.25f, 0.125f, -0.75f});
  const Feed feeds[] = {{"x", &x}};
  const auto simulated = executor::Executor::Create(portable->program, &portable->scope);
  const auto integers = executor::Executor::Create(lowered->program, &lowered->scope);
  auto judge = reference::Interpreter::Create(lowered->program, &lowered->scope);
  ASSERT_TRUE(simulated.ok() && integers.ok() && judge.ok())
      << simulated.status() << integers.status() << judge.status();
  EXPECT_THAT(StepsOf(**simulated, feeds),
              testing::Contains(HasSubstr("own_product on integers + own_ramp")));
  const auto expected = (*simulated)->Run(feeds, {"out"}, 0);
  const auto apart = (*simulated)->Run(feeds, {"out", "y", "z"}, 0);
  const auto got = (*integers)->Run(feeds, {"out"}, 0);
  const auto judged = judge->Run(feeds, {"out"}, 0);
  ASSERT_TRUE(expected.ok() && apart.ok() && got.ok() && judged.ok())
      << expected.status() << apart.status() << got.status() << judged.status();
  EXPECT_EQ((*apart)[0].bytes(), (*expected)[0].bytes());
  EXPECT_EQ((*got)[0].bytes(), (*expected)[0].bytes());
  EXPECT_EQ((*judged)[0].bytes(), (*expected)[0].bytes());

  // The interpreter sums floats, in another order.
  auto numbers = reference::Interpreter::Create(portable->program, &portable->scope);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  const auto interpreted = numbers->Run(feeds, {"out"}, 0);
  ASSERT_TRUE(interpreted.ok()) << interpreted.status();
  for (int64_t i = 0; i < (*expected)[0].size(); ++i) {
    EXPECT_NEAR((*interpreted)[0].data<float>()[i], (*expected)[0].data<float>()[i], 1e-5) << i;
  }
}

// The op on integers has another default for the same attribute.
TEST(OwnOps, AreLoweredWithTheDefaultsOfTheirAttributes) {
  AddOwnOps();
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var x f32[2,5,2]
      var q f32[2,5,2]
      var d f32[2,5,2]
      var s f32[1] persistable
      var zero i32[1] persistable
      var w i8[2,2] persistable
      var e f32[2,2]
      var y f32[2,5,2]
      quantize_linear(X=x, Scale=s, ZeroPoint=zero) -> (Y=q) {bit_length=8, quant_axis=-1}
      dequantize_linear(X=q, Scale=s, ZeroPoint=zero) -> (Y=d) {bit_length=8, quant_axis=-1}
      dequantize_linear(X=w, Scale=s, ZeroPoint=zero) -> (Y=e) {bit_length=8, quant_axis=-1}
      own_deep_product(Rows=d, Table=e) -> (Sums=y)
    })");
  Scope scope;
  scope.Set("s", Tensor::FromValues<float>({1}, {2}));
  scope.Set("zero", Tensor::FromValues<int32_t>({1}, {0}));
  scope.Set("w", Tensor::FromValues<int8_t>({2, 2}, {1, -2, 3, -4}));
  const absl::StatusOr<LoweredModel> lowered = Lower(program, scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_THAT(PrintProgram(lowered->program.Proto()),
              HasSubstr("integer_mul(X=q, Y=w, Scales=y.scales) -> (Out=y) {x_num_col_dims=2"));
}

// The affine quantizer, with ops of other types.
class OwnAffine final : public Quantizer {
 public:
  OwnAffine() : recipes_(base_.recipes().begin(), base_.recipes().end()) {
    for (QuantizerRecipe& recipe : recipes_) {
      recipe.quantize_op = "own_quantize";
      recipe.dequantize_op = "own_dequantize";
    }
  }
  absl::string_view name() const override { return "own_affine"; }
  absl::string_view doc() const override { return base_.doc(); }
  QuantSpec::Scheme scheme() const override { return QuantSpec::AFFINE; }
  bool is_dynamic() const override { return false; }
  absl::Span<const QuantizerParameter> parameters() const override { return base_.parameters(); }
  absl::Span<const QuantizerRecipe> recipes() const override { return recipes_; }
  void AddQuantizeAttrs(const QuantSpec& spec, Era era, OpBuilder& op) const override {
    base_.AddQuantizeAttrs(spec, era, op);
  }
  void AddDequantizeAttrs(const QuantSpec&, Era, OpBuilder&) const override {}
  double InitialValue(const QuantizerState& state, const QuantSpec& spec) const override {
    return base_.InitialValue(state, spec);
  }
  float Observe(const QuantSpec& spec, absl::Span<const float> values,
                absl::Span<const absl::Span<float>> state, int64_t step) const override {
    return base_.Observe(spec, values, state, step);
  }

 private:
  const QuantizerTable table_;
  const Quantizer& base_ = *table_.Find("moving_average_min_max");
  std::vector<QuantizerRecipe> recipes_;
};

std::vector<OpSchema> OwnQuantizeOps() {
  OpList ops;
  ops.Define(
         "own_quantize(X, InScale, InZeroPoint, InState?, InAccumMin?, InAccumMax?) -> (Out, "
         "OutScale, OutZeroPoint, OutState?, OutAccumMin?, OutAccumMax?)")
      .Doc("Codes of X with a zero point.")
      .Quantizes(QuantOp::kQuantize)
      .ScalesAreSteps()
      .Attr("bit_length", Int(8))
      .Attr("round_type", Int(1))
      .Attr("unsigned_codes", Bool(false))
      .Attr("moving_rate", Float(0.9f))
      .Attr("is_test", Bool(false))
      .TrainingState(
          "InScale -> OutScale, InZeroPoint -> OutZeroPoint, InState -> OutState, "
          "InAccumMin -> OutAccumMin, InAccumMax -> OutAccumMax")
      .Infer(SameAs("X", {"Out"}));
  ops.Define("own_dequantize(X, Scale, ZeroPoint) -> (Out)")
      .Doc("Out = (X - ZeroPoint) * Scale.")
      .Quantizes(QuantOp::kDequantize)
      .ScalesAreSteps()
      .Infer(SameAs("X", {"Out"}));
  return ops.Build();
}

TEST(OwnAffineQuantizer, IsFrozenAndLowered) {
  AddOpSchemas(OwnQuantizeOps());
  executor::AddOpPlans(
      {{"own_quantize", executor::FindOpPlan("fake_quantize_moving_average_min_max")->plan},
       {"own_dequantize", executor::FindOpPlan("fake_dequantize_affine")->plan}});
  QuantizerTable quantizers;
  ASSERT_TRUE(quantizers.Add(std::make_unique<OwnAffine>()).ok());
  Program program = ParsedProgram(R"(
    var x f32[-1,3]
    var w f32[3,4] persistable
    var y f32[-1,4]
    var z f32[-1,4]
    var v f32[4,2] persistable
    var out f32[-1,2]
    mul(X=x, Y=w) -> (Out=y) {op_role=0}
    hard_swish(X=y) -> (Out=z) {op_role=0}
    mul(X=z, Y=v) -> (Out=out) {op_role=0}
  )");
  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.mutable_activations()->set_quantizer("own_affine");
  options.quantizers = &quantizers;
  const absl::StatusOr<TranspileResult> result = Transpile(&program, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(PrintProgram(program.Proto()), HasSubstr("own_quantize(X=z, InScale=z@scale"));

  Scope scope = Trained();
  for (const auto& [value, step, zero_point] :
       {std::tuple("x", 0.02f, 128.0f), std::tuple("z", 0.0125f, 40.0f)}) {
    scope.Set(absl::StrCat(value, "@scale"), Tensor::FromValues<float>({1}, {step}));
    scope.Set(absl::StrCat(value, "@zero_point"), Tensor::FromValues<float>({1}, {zero_point}));
  }
  FreezeOptions freeze;
  freeze.fetches = {"out"};
  freeze.quantizers = &quantizers;
  absl::StatusOr<FrozenModel> portable = Freeze(program, scope, freeze);
  ASSERT_TRUE(portable.ok()) << portable.status();
  absl::StatusOr<LoweredModel> lowered = Lower(portable->program, portable->scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string text = PrintProgram(lowered->program.Proto());
  EXPECT_THAT(text, HasSubstr("input_zero_point=40"));
  EXPECT_THAT(text, HasSubstr("out_zero_point=40"));
  EXPECT_THAT(text, Not(HasSubstr("own_")));

  const Tensor x = Tensor::FromValues<float>({2, 3}, {0.5f, -2.5f, 1, 0.25f, 0.125f, -0.75f});
  const Feed feeds[] = {{"x", &x}};
  const auto simulated = executor::Executor::Create(portable->program, &portable->scope);
  const auto integers = executor::Executor::Create(lowered->program, &lowered->scope);
  ASSERT_TRUE(simulated.ok() && integers.ok()) << simulated.status() << integers.status();
  const auto expected = (*simulated)->Run(feeds, {"out"}, 0);
  const auto got = (*integers)->Run(feeds, {"out"}, 0);
  ASSERT_TRUE(expected.ok() && got.ok()) << expected.status() << got.status();
  EXPECT_EQ((*got)[0].bytes(), (*expected)[0].bytes());
}

}  // namespace
}  // namespace fixpoint
