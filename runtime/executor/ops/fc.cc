// fc: a product with the weights, the bias and the activation in one op. Where input and weights
// are codes the sums are those of integers, as of mul; what is after the op goes into the same
// epilogue. Weights with a zero point for each column have their bias in int32.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/integer_operands.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/product.h"
#include "runtime/executor/ops/row_wise_product.h"
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

// The stages of the op's bias, as numbers, and of its activation.
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

// Whether what comes after the op is added to its sums.
bool IsProductAlone(const OpPlanner& op) {
  return !op.HasInput("Bias") && op.attributes().String("activation_type").empty();
}

// The codes of the op's bias; null where it has none that is held so.
const BiasCodes* FindBiasCodesOf(const OpPlanner& op) {
  return op.HasInput("Bias") ? FindBiasCodes(op.builder(), op.InputValue("Bias")) : nullptr;
}

absl::Status AddRowWise(OpPlanner& op, const ProductShape& shape, const RowWiseOperands& operands,
                        const EpilogueInput& output, OwnStages own, const OpsAfter& after) {
  std::optional<Buffer> bias;
  if (op.HasInput("Bias")) {
    bias = own.operands.front();
    own.epilogue.erase(own.epilogue.begin());
    own.operands.erase(own.operands.begin());
  }
  ASSIGN_OR_RETURN(auto product, kernels::RowWiseProduct::Plan(shape, operands.inputs.type,
                                                               own.Before(after.epilogue())));
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, AbsorbOpsAfter(op, output, own, after));
  AddRowWiseProduct(op, shape, operands, std::move(product), bias, epilogue);
  return absl::OkStatus();
}

absl::Status PlanFc(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const ProductShape shape, ShapeOf(op));
  const EpilogueInput output{"Out", type, static_cast<int>(type.dims.size()) - 1,
                             Layout::kRowMajor};
  const int64_t operations = 2 * shape.out_size() * shape.inner;
  ASSIGN_OR_RETURN(const std::optional<IntegerOperands> integers,
                   ReadIntegerOperands(op, "Input", Layout::kRowMajor, "W", /*channel_axis=*/1));
  const OpsAfter after = integers && IsProductAlone(op)
                             ? FindOpsAfterSums(op, output, integers->SumsOf(shape.inner))
                             : FindOpsAfter(op, output);
  const BiasCodes* const bias = after.bias ? &*after.bias : FindBiasCodesOf(op);
  const bool adds_codes =
      integers && bias != nullptr && integers->SumsOf(shape.inner).CanAdd(*bias);
  ASSIGN_OR_RETURN(const OwnStages own, ReadOwnStages(op, shape.columns, !adds_codes));
  if (adds_codes) {
    return PlanBiasedSums(
        op, *integers, *bias, after, operations,
        [&](const kernels::Epilogue& epilogue) {
          return kernels::PlanBiasedProduct(shape, integers->inputs.coding(), own.Before(epilogue));
        },
        [&](const OpsAfter& absorbed) { return AbsorbOpsAfter(op, output, own, absorbed); });
  }
  ASSIGN_OR_RETURN(const std::optional<RowWiseOperands> rows,
                   ReadRowWiseOperands(op, "Input", "W", shape));
  if (rows) return AddRowWise(op, shape, *rows, output, own, after);
  if (integers) {
    auto sums =
        kernels::PlanIntegerProduct(shape, integers->inputs.coding(), own.Before(after.epilogue()));
    if (sums.ok()) {
      ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, AbsorbOpsAfter(op, output, own, after));
      AddIntegerSums(op, *integers, *std::move(sums), shape.columns, operations, epilogue);
      return absl::OkStatus();
    }
    // A sum that may not fit in 32 bits is one of floats.
    if (!absl::IsInvalidArgument(sums.status())) return sums.status();
  }
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
              absl::StrCat(op.op().type(), epilogue.names)});
  return absl::OkStatus();
}

}  // namespace

OpPlans FcPlans() { return {{"fc", PlanFc}}; }

}  // namespace fixpoint::executor
