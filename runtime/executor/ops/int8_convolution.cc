#include "runtime/executor/ops/int8_convolution.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ops/int8_convolution.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/lowered_codes.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/stored_results.h"
#include "runtime/kernels/integer_convolution.h"

namespace fixpoint::executor {
namespace {

absl::StatusOr<Int8Convolution> ReadWork(const OpPlanner& op, int64_t filters) {
  std::optional<VarType::Type> residual;
  if (op.HasInput("ResidualData")) residual = op.InputType("ResidualData").dtype;
  return ReadInt8Convolution(op.op(), op.attributes(), filters, residual);
}

absl::StatusOr<Buffer> ReadFilterCodes(OpPlanner& op, const Int8Convolution& work) {
  if (op.InputType("Filter").dtype == VarType::INT8) return op.Read("Filter", VarType::INT8);
  ASSIGN_OR_RETURN(const Buffer filter, op.ReadFloats("Filter"));
  const Buffer codes = op.Scratch("codes of Filter", VarType::INT8, filter.size);
  op.AddStep({{filter},
              {codes},
              [=](const StepContext& run) {
                work.FillFilterCodes(run.Floats(filter), run.Of<int8_t>(codes));
                return absl::OkStatus();
              },
              "",
              0,
              "codes of a filter"});
  return codes;
}

absl::StatusOr<Buffer> ReadBiasCodes(OpPlanner& op, const Int8Convolution& work, int64_t filters) {
  RETURN_IF_ERROR(op.CheckSize("Bias", filters));
  ASSIGN_OR_RETURN(const Buffer bias, op.ReadFloats("Bias"));
  const Buffer codes = op.Scratch("codes of Bias", VarType::INT32, filters);
  op.AddStep({{bias},
              {codes},
              [=](const StepContext& run) {
                for (int64_t o = 0; o < filters; ++o) {
                  run.Of<int32_t>(codes)[o] = work.BiasCode(run.Floats(bias)[o], o);
                }
                return absl::OkStatus();
              },
              "",
              0,
              "codes of a bias"});
  return codes;
}

Buffer AddScales(OpPlanner& op, const std::vector<float>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  const Buffer scales = op.Scratch("scales", VarType::FP32, count);
  op.AddStep({{},
              {scales},
              [=](const StepContext& run) {
                std::copy(numbers.begin(), numbers.end(), run.Floats(scales).begin());
                return absl::OkStatus();
              },
              "",
              0,
              "scales of sums"});
  return scales;
}

}  // namespace

absl::Status PlanInt8Convolution(OpPlanner& op, const kernels::ConvolutionShape& shape,
                                 Layout layout) {
  ASSIGN_OR_RETURN(const Int8Convolution work, ReadWork(op, shape.filters));
  ASSIGN_OR_RETURN(const TensorType images, op.OutputType("Output"));
  const StoredOutput output = {"Output",      images,        layout,
                               shape.filters, work.epilogue, "ResidualData"};
  ASSIGN_OR_RETURN(const kernels::CodeType type, CodeTypeOf(op, "Input"));
  kernels::SumCoding coding = type;
  if (work.adds_bias) coding = coding.WithBias();
  ASSIGN_OR_RETURN(
      const std::shared_ptr<kernels::IntegerSums> kernel,
      kernels::PlanIntegerConvolution(shape, coding, output.split().fused, output.output_type()));
  ASSIGN_OR_RETURN(const Buffer input, op.Read("Input", op.InputType("Input").dtype, layout));
  ASSIGN_OR_RETURN(const Buffer filter, ReadFilterCodes(op, work));
  const Buffer packed = AddPacking<int8_t>(op, kernel, filter);
  const Buffer scales = AddScales(op, work.sum_scales);
  std::vector<Buffer> reads = {input, packed, scales};
  std::optional<Buffer> bias;
  if (work.adds_bias) {
    ASSIGN_OR_RETURN(bias, ReadBiasCodes(op, work, shape.filters));
    reads.push_back(*bias);
  }
  ASSIGN_OR_RETURN(const StoredResults stored, PlanStore(op, output, {input, packed}));
  StepKernel step{stored.operands.WithOperands(std::move(reads)),
                  {stored.output},
                  [=](const StepContext& run) {
                    kernels::SumOperands operands = {run.Of<uint8_t>(input),
                                                     run.Of<uint8_t>(packed), run.Floats(scales)};
                    if (bias) operands.bias = run.Of<int32_t>(*bias);
                    stored.Run(run, [&](kernels::EpilogueOperands stages, kernels::Output out) {
                      operands.epilogue = stages;
                      kernel->Run(operands, out);
                    });
                    return absl::OkStatus();
                  },
                  kernel->implementation(),
                  2 * shape.output_size() * shape.taps(),
                  absl::StrCat(op.type(), " of codes", output.NameOf(op))};
  step.beside_floats = kernel->beside_floats();
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
