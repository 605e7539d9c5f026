#include "runtime/executor/ops/wide_codes.h"

#include <algorithm>
#include <memory>

#include "ops/code_dtype.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/quantized.h"
#include "runtime/kernels/fake_quantize.h"
#include "runtime/kernels/layout.h"

namespace fixpoint::executor {
namespace {

// The codes themselves, as floats.
struct WideNumbers {
  WideCodes codes;
};

}  // namespace

const WideCodes* FindWideCodes(const OpPlanner& op, absl::string_view slot) {
  return op.builder().Attached<WideCodes>(op.InputValue(slot));
}

const WideCodes* FindWideNumbers(const OpPlanner& op, absl::string_view slot) {
  const auto* const numbers = op.builder().Attached<WideNumbers>(op.InputValue(slot));
  return numbers != nullptr ? &numbers->codes : nullptr;
}

absl::Status WriteWideCodes(OpPlanner& op, absl::string_view slot, WideCodes codes) {
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, codes.channel_axis));
  const Dims dims = op.InputDims("X");
  if (codes.channel_axis) {
    ASSIGN_OR_RETURN(codes, InLayout(op, codes, dims, Layout::kRowMajor));
  }
  const Value& out = op.OutputValue(slot);
  op.builder().Defer(out, {VarType::FP32, dims}, codes.layout,
                     [=, channels = view.channels, &builder = op.builder()](Buffer numbers) {
                       builder.AddStep({"dequantize",
                                        nullptr,
                                        "",
                                        {codes.codes, codes.ranges},
                                        {numbers},
                                        0,
                                        [=](const StepContext& run) {
                                          kernels::Dequantize(run.Of<int16_t>(codes.codes),
                                                              run.Floats(codes.ranges), channels,
                                                              codes.largest_code,
                                                              run.Floats(numbers));
                                          return absl::OkStatus();
                                        }});
                     });
  op.builder().Attach(out, codes);
  return absl::OkStatus();
}

void WriteWideNumbers(OpPlanner& op, absl::string_view slot, const WideCodes& codes) {
  const Value& out = op.OutputValue(slot);
  op.builder().Defer(
      out, {VarType::FP32, op.InputDims("X")}, codes.layout,
      [=, &builder = op.builder()](Buffer numbers) {
        builder.AddStep({"codes to numbers",
                         nullptr,
                         "",
                         {codes.codes},
                         {numbers},
                         0,
                         [=](const StepContext& run) {
                           const absl::Span<const int16_t> from = run.Of<int16_t>(codes.codes);
                           std::copy(from.begin(), from.end(), run.Floats(numbers).begin());
                           return absl::OkStatus();
                         }});
      });
  op.builder().Attach(out, WideNumbers{codes});
}

absl::Status AddWideQuantize(OpPlanner& op, const CodeOp& quantize, Buffer ranges) {
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, quantize.axis));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
  WideCodes codes;
  codes.codes = op.Scratch("codes", VarType::INT16, x.size);
  codes.ranges = ranges;
  codes.largest_code = quantize.codes.largest;
  codes.channel_axis = quantize.axis;
  codes.layout = view.layout;
  op.AddStep({{x, ranges},
              {codes.codes},
              [=, rule = quantize.codes, channels = view.channels](const StepContext& run) {
                kernels::Quantize(run.Floats(x), run.Floats(ranges), channels, rule,
                                  run.Of<int16_t>(codes.codes));
                return absl::OkStatus();
              }});
  const absl::string_view output = OpPlanner::SlotOf(*quantize.output);
  if (quantize.kind == QuantOp::kQuantizeDequantize) return WriteWideCodes(op, output, codes);
  WriteWideNumbers(op, output, codes);
  return absl::OkStatus();
}

absl::StatusOr<WideCodes> InLayout(OpPlanner& op, WideCodes codes, const Dims& dims,
                                   Layout layout) {
  if (codes.layout == layout || dims.size() != 4) return codes;
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::LayoutConversion> conversion,
                   kernels::LayoutConversion::Plan(dims, sizeof(int16_t),
                                                   layout == Layout::kChannelsLast
                                                       ? kernels::ImageOrder::kToChannelsLast
                                                       : kernels::ImageOrder::kToRowMajor));
  const Buffer from = codes.codes;
  const Buffer to = op.Scratch("codes", VarType::INT16, from.size);
  op.AddStep({{from},
              {to},
              [=](const StepContext& run) {
                conversion->Run(run.Of<uint8_t>(from).data(), run.Of<uint8_t>(to).data());
                return absl::OkStatus();
              },
              conversion->implementation(),
              0,
              "codes in another layout"});
  codes.codes = to;
  codes.layout = layout;
  return codes;
}

Buffer Widened(OpPlanner& op, Buffer codes, VarType::Type dtype) {
  if (IsWideCodeDtype(dtype)) return codes;
  const Buffer widened = op.Scratch("codes", VarType::INT16, codes.size);
  const bool is_unsigned = IsUnsignedDtype(dtype);
  op.AddStep({{codes},
              {widened},
              [=](const StepContext& run) {
                const absl::Span<int16_t> to = run.Of<int16_t>(widened);
                const auto copy = [&to](auto from) {
                  std::copy(from.begin(), from.end(), to.begin());
                };
                is_unsigned ? copy(run.Of<uint8_t>(codes)) : copy(run.Of<int8_t>(codes));
                return absl::OkStatus();
              },
              "",
              0,
              "widen codes"});
  return widened;
}

}  // namespace fixpoint::executor
