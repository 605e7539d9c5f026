// fc: a product with the weights, the bias and the activation in one op. Where input and weights
// are codes, the sums are computed on integers, as for mul; the ops after it go into the same
// epilogue. Weights with a zero point for each column have their bias in int32.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/integer_operands.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/product.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/product.h"

namespace fixpoint::executor {
namespace {

using kernels::EpilogueStage;
using kernels::ProductShape;

absl::StatusOr<ProductShape> ShapeOf(const OpPlanner& op) {
  if (op.attributes().Bool("padding_weights")) {
    return absl::UnimplementedError("padding_weights is true; want weights without padding");
  }
  return FullyConnectedShape(op, "Input", op.attributes().Int("in_num_col_dims"), "W");
}

// The stages of the op's bias, as floats, and of its activation.
absl::StatusOr<OwnStages> ReadOwnStages(OpPlanner& op, int64_t columns, bool adds_numbers) {
  OwnStages own;
  if (op.HasInput("Bias")) RETURN_IF_ERROR(op.CheckSize("Bias", columns));
  if (op.HasInput("Bias") && adds_numbers) {
    ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
    own.Add({EpilogueStage::Kind::kAddChannel}, bias);
  }
  const std::string activation = op.attributes().String("activation_type");
  if (activation == "relu") {
    own.Add({EpilogueStage::Kind::kRelu});
  } else if (!activation.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("activation_type is \"", activation, "\"; want \"relu\" or none"));
  }
  return own;
}

// Whether the op's output is its plain sums, so that the op after it may add to them.
bool IsProductAlone(const OpPlanner& op) {
  return !op.HasInput("Bias") && op.attributes().String("activation_type").empty();
}

// The form of the op's bias.
BiasForm BiasFormOf(const OpPlanner& op, const SumsOfCodes& sums) {
  return op.HasInput("Bias") ? PlannedFacts(op, &sums).BiasFormOf(op.InputValue("Bias"))
                             : BiasForm::kNone;
}

// What the sums on integers are, and the stages that are left to the epilogue.
struct FcSums {
  OperandSums sums;
  OwnStages own;
};

// Nothing where the op is not computed on integers.
absl::StatusOr<std::optional<FcSums>> ReadSums(OpPlanner& op, const ProductShape& shape) {
  ASSIGN_OR_RETURN(const std::optional<IntegerOperands> integers,
                   ReadIntegerOperands(op, Layout::kRowMajor));
  if (!integers) return std::nullopt;
  FcSums read;
  read.sums = {*integers, shape.columns, 2 * shape.out_size() * shape.inner};
  const BiasKind bias = integers->product.KindOfBias(BiasFormOf(op, integers->sums()));
  if (bias == BiasKind::kToSums) {
    read.sums.bias = *FindBiasCodes(op.builder(), op.InputValue("Bias"));
  } else if (bias == BiasKind::kRoundedToSums) {
    RETURN_IF_ERROR(op.CheckSize("Bias", shape.columns));
    ASSIGN_OR_RETURN(read.sums.bias_numbers, op.ReadFloats("Bias"));
  }
  ASSIGN_OR_RETURN(read.own, ReadOwnStages(op, shape.columns, bias == BiasKind::kToFloats));
  return read;
}

absl::Status PlanFc(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const ProductShape shape, ShapeOf(op));
  const EpilogueInput output{"Out", type, static_cast<int>(type.dims.size()) - 1,
                             Layout::kRowMajor};
  const int64_t operations = 2 * shape.out_size() * shape.inner;
  const OpsAfter after = FindOpsAfter(op, output);
  ASSIGN_OR_RETURN(std::optional<FcSums> integers, ReadSums(op, shape));
  if (integers) {
    const OwnStages& own = integers->own;
    const OpsAfter of_sums =
        IsProductAlone(op) ? FindOpsAfterSums(op, output, integers->sums.operands.sums()) : after;
    if (of_sums.bias) integers->sums.bias = of_sums.bias;
    return PlanOperandSums(
               op, integers->sums, own, of_sums,
               [&](const kernels::SumCoding& coding, const kernels::Epilogue& epilogue) {
                 return kernels::PlanIntegerProduct(shape, coding, epilogue);
               },
               [&](const OpsAfter& absorbed) { return AbsorbOpsAfter(op, output, own, absorbed); })
        .status();
  }
  ASSIGN_OR_RETURN(const OwnStages own, ReadOwnStages(op, shape.columns, /*adds_numbers=*/true));
  ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(const Buffer w, op.ReadFloats("W"));
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::Product> product,
                   kernels::Product::Plan(shape, own.Before(after.epilogue())));
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, AbsorbOpsAfter(op, output, own, after));
  const Buffer packed = AddPacking<float>(op, product, w);
  op.AddStep({epilogue.WithOperands({input, packed}),
              {epilogue.out},
              [=](const StepContext& run) {
                product->Run(run.Floats(input), run.Of<uint8_t>(packed), epilogue.OperandsOf(run),
                             run.Floats(epilogue.out));
                return absl::OkStatus();
              },
              product->implementation(),
              operations,
              absl::StrCat(op.type(), epilogue.names)});
  return absl::OkStatus();
}

}  // namespace

OpPlans FcPlans() { return {{"fc", PlanFc}}; }

}  // namespace fixpoint::executor
