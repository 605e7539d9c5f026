// Sums of products of codes that become codes by a multiplier and a shift, on integers
// (ops/fixed_point.h).

#include "ops/requantization.h"

#include <optional>
#include <utility>

#include "ops/channel_ranges.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

absl::Status RequantizeSums(OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("InputScale", 1));
  RETURN_IF_ERROR(op.CheckSize("OutputScale", 1));
  const std::optional<RequantizationOp> requantization = ReadRequantization(op.op(), op.era());
  if (!requantization) {
    return absl::InvalidArgumentError(
        "an attribute is no largest code, axis, width or count of roundings");
  }
  const RequantizationOp& read = *requantization;
  const Array& ranges = op.Input("WeightScale");
  Array out = op.Input("X");
  RETURN_IF_ERROR(CheckWeightScale(ranges.dims, out.dims, read.channel_axis));
  const auto input_range = static_cast<float>(op.Input("InputScale")[0]);
  const auto output_range = static_cast<float>(op.Input("OutputScale")[0]);
  const float step = read.StepOfCodes(output_range);
  out.dtype = VarType::FP32;
  ForEachLine(ViewAround(out.dims, read.channel_axis),
              [&](int64_t start, int64_t stride, int64_t size) {
                for (int64_t c = 0; c < size; ++c) {
                  double& x = out[start + c * stride];
                  const float of_sums =
                      read.StepOfSums(input_range, static_cast<float>(ranges[c % ranges.size()]));
                  const FixedPointMultiplier by =
                      FixedPointMultiplierOf(read.Factor(of_sums, output_range), 32);
                  const auto sum = static_cast<int64_t>(SumOf(static_cast<float>(x), of_sums));
                  x = static_cast<float>(Requantize(sum, by, read.roundings)) * step;
                }
              });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels RequantizationKernels() { return {{kRequantize, RequantizeSums}}; }

}  // namespace fixpoint::reference
