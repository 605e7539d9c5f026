#include "runtime/executor/ops/rnn_products.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/op_traits.h"
#include "ops/recurrent_state.h"
#include "ops/sums_of_codes.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/executor/ops/product.h"
#include "runtime/kernels/coded_recurrence.h"
#include "runtime/kernels/integer_product.h"

namespace fixpoint::executor {
namespace {

using kernels::ProductShape;

// The codes of the input of a lowered program, whose steps are in the scales.
absl::StatusOr<Codes> ReadLoweredInput(OpPlanner& op) {
  const VarType::Type dtype = op.InputType("Input").dtype;
  if (dtype != VarType::INT8 && dtype != VarType::UINT8) {
    return absl::UnimplementedError(
        absl::StrCat("Input is of ", VarType::Type_Name(dtype), "; want INT8 or UINT8"));
  }
  Codes codes;
  ASSIGN_OR_RETURN(codes.codes, op.Read("Input", dtype));
  codes.type = CodeTypeOf(dtype == VarType::UINT8);
  if (const int64_t code = op.attributes().Int("input_zero_point"); code != 0) {
    const Buffer zero_point = op.Scratch("zero point", VarType::FP32, 1);
    op.AddStep({{},
                {zero_point},
                [=](const StepContext& run) {
                  run.Floats(zero_point)[0] = static_cast<float>(code);
                  return absl::OkStatus();
                },
                "",
                0,
                "zero point"});
    codes.zero_point = zero_point;
  }
  return codes;
}

// Whether integers hold all sums.
bool SumsFitIn(const RnnShape& shape, int state_bits, const Codes& input) {
  const int64_t states = shape.layers > 1 ? shape.InputsOf(1) : shape.width;
  return SumsFit(kernels::SumCoding(input.coding()).Sum(shape.inputs)) &&
         StateSumsFit(state_bits, states);
}

// The product of the codes of Input with a matrix.
absl::Status AddProductOfInput(OpPlanner& op, const ProductShape& shape, const Codes& input,
                               const WeightCodes& weights, Buffer sums) {
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::IntegerSums> kernel,
                   kernels::PlanIntegerProduct(shape, input.coding()));
  const Buffer packed = AddPacking<int8_t>(op, kernel, weights.codes);
  StepKernel step;
  step.reads = {input.codes, packed, weights.scales};
  if (input.zero_point) step.reads.push_back(*input.zero_point);
  step.writes = {sums};
  step.run = [=](const StepContext& run) {
    kernels::SumOperands operands;
    operands.inputs = run.Of<uint8_t>(input.codes);
    operands.weights = run.Of<uint8_t>(packed);
    operands.scales = run.Floats(weights.scales);
    operands.zero_point = static_cast<int32_t>(input.ZeroPointIn(run));
    kernel->Run(operands, run.Floats(sums));
    return absl::OkStatus();
  };
  step.implementation = kernel->implementation();
  step.operations = 2 * shape.rows * shape.inner * shape.columns;
  step.name = absl::StrCat(op.type(), " of input on integers");
  step.beside_floats = kernel->beside_floats();
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

// The product of the states of the layer before with a matrix.
absl::Status AddProductOfStates(OpPlanner& op, const ProductShape& shape, int state_bits,
                                Buffer states, const WeightCodes& weights, Buffer sums) {
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::StateProduct> kernel,
                   kernels::StateProduct::Plan(state_bits, shape.rows, shape.inner, shape.columns));
  const Buffer packed = AddPacking<int8_t>(op, kernel, weights.codes);
  StepKernel step{{states, packed, weights.scales},
                  {sums},
                  [=](const StepContext& run) {
                    kernel->Run(run.Floats(states).data(), run.Of<uint8_t>(packed),
                                run.Floats(weights.scales), run.Floats(sums).data());
                    return absl::OkStatus();
                  },
                  kernel->implementation(),
                  2 * shape.rows * shape.inner * shape.columns,
                  absl::StrCat(op.type(), " of states on integers")};
  step.beside_floats = kernel->beside_floats();
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RnnProducts> RnnProductsOf(OpPlanner& op, const RnnShape& shape) {
  RnnProducts products;
  ASSIGN_OR_RETURN(products.state_bits, StateBitsOf(op.attributes()));
  products.is_lowered = TraitsOf(op.op()).is_on_integers;
  if (products.is_lowered) {
    RETURN_IF_ERROR(CheckStateBits(products.state_bits));
    ASSIGN_OR_RETURN(products.input, ReadLoweredInput(op));
    if (!SumsFitIn(shape, products.state_bits, *products.input)) {
      return absl::InvalidArgumentError("sums of so many products of codes do not fit in integers");
    }
    products.is_of_codes = true;
    return products;
  }
  if (products.state_bits == 0) return products;
  const Codes* const input = op.builder().FindCodes(op.InputValue("Input"));
  if (input == nullptr || input->channel_axis || input->layout != Layout::kRowMajor) {
    return products;
  }
  for (int i = 0; i < 2 * shape.layers * shape.directions; ++i) {
    if (!FindWeightCodes(op, "WeightList", i, /*axis=*/0)) return products;
  }
  if (!SumsFitIn(shape, products.state_bits, *input)) return products;
  products.input = *input;
  products.is_of_codes = true;
  return products;
}

absl::StatusOr<WeightCodes> WeightCodesOf(OpPlanner& op, const RnnShape& shape,
                                          const RnnProducts& products, int index,
                                          const InputStep& step) {
  const int64_t columns = shape.gates() * shape.width;
  if (products.is_lowered) return ReadLoweredWeights(op, "WeightList", index, index, columns);
  return AddScales(op, *FindWeightCodes(op, "WeightList", index, /*axis=*/0), columns, step);
}

absl::Status AddInputProduct(OpPlanner& op, const RnnShape& shape, const RnnProducts& products,
                             int pair, std::optional<Buffer> input, Buffer sums) {
  ProductShape product{1, shape.rows(), shape.InputsOf(pair / shape.directions),
                       shape.gates() * shape.width};
  product.transpose_y = true;
  const int index = RnnShape::InputWeight(pair);
  if (products.is_of_codes) {
    const Codes& codes = *products.input;
    const InputStep of_input = {codes.buffers(),
                                [codes](const StepContext& run) { return codes.StepIn(run); }};
    ASSIGN_OR_RETURN(const WeightCodes weights,
                     WeightCodesOf(op, shape, products, index,
                                   input ? StepOfStates(products.state_bits) : of_input));
    if (!input) return AddProductOfInput(op, product, codes, weights, sums);
    return AddProductOfStates(op, product, products.state_bits, *input, weights, sums);
  }
  Buffer floats;
  if (!input) {
    ASSIGN_OR_RETURN(floats, op.ReadFloats("Input"));
  } else {
    floats = products.state_bits == 0 ? *input : AddRoundedStates(op, products.state_bits, *input);
  }
  ASSIGN_OR_RETURN(const Buffer weights, op.ReadFloats("WeightList", Layout::kRowMajor, index));
  return AddProduct(op, product, 1, floats, weights, sums, absl::StrCat(op.type(), " of input"));
}

}  // namespace fixpoint::executor
