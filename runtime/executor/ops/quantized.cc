#include "runtime/executor/ops/quantized.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/codes/held_codes.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/batch_norm.h"
#include "runtime/executor/ops/wide_codes.h"

namespace fixpoint::executor {
namespace {

// Converts codes to floats: times the step of their channel.
void MultiplyBySteps(absl::Span<const float> ranges, const kernels::Channels& channels,
                     int32_t largest_code, absl::Span<float> values) {
  for (int64_t line = 0; line < channels.outer * channels.count; ++line) {
    const float step = ranges[line % channels.count] / static_cast<float>(largest_code);
    for (float& value : values.subspan(line * channels.inner, channels.inner)) value *= step;
  }
}

// Calls f with the memory of codes, as their type.
template <typename F>
void WithCodes(const Codes& codes, const StepContext& run, F f) {
  if (codes.type == kernels::CodeType::kInt8) {
    f(run.Of<int8_t>(codes.codes));
  } else {
    f(run.Of<uint8_t>(codes.codes));
  }
}

// Adds the step that quantizes the result of a batch_norm without storing it.
void AddNormalizedCodes(OpPlanner& op, const NormalizedValue& y, const CodeRange& coding,
                        const Codes& codes) {
  StepKernel step{
      {y.x, y.mean, y.variance, y.inverse_deviation, y.factors, y.addends, codes.ranges},
      {codes.codes},
      [=](const StepContext& run) {
        const float range = run.Floats(codes.ranges)[0];
        WithCodes(codes, run, [&](auto span) {
          y.norm->Normalize(run.Floats(y.x), y.Statistics(run), range, coding, span);
        });
        return absl::OkStatus();
      },
      y.norm->implementation(),
      0,
      absl::StrCat(y.name, " + ", op.type())};
  step.is_repeatable = true;
  op.AddStep(std::move(step));
}

// Adds the step that quantizes X.
absl::Status AddCodes(OpPlanner& op, const CodeOp& quantize, Buffer ranges) {
  const CodeRange coding = quantize.codes;
  const absl::string_view output = OpPlanner::SlotOf(*quantize.output);
  const bool dequantizes = quantize.kind == QuantOp::kQuantizeDequantize;
  ASSIGN_OR_RETURN(const ChannelView view, ViewChannels(op, quantize.axis));
  const bool is_never_negative = op.IsNeverNegative("X");
  if (WideCodesOf(quantize, is_never_negative)) return AddWideQuantize(op, quantize, ranges);
  const std::optional<CodeRange> held = CodesHeldOf(quantize, is_never_negative);
  if (!held) {
    const bool by_step = quantize.multiplies_by_step;
    ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
    const Buffer out = op.WriteOver(output, op.InputType("X"), view.layout, x);
    op.AddStep({{x, ranges}, {out}, [=, channels = view.channels](const StepContext& run) {
                  const absl::Span<float> values = run.Floats(out);
                  if (dequantizes && !by_step) {
                    kernels::QuantizeDequantize(run.Floats(x), run.Floats(ranges), channels, coding,
                                                values);
                    return absl::OkStatus();
                  }
                  kernels::Quantize(run.Floats(x), run.Floats(ranges), channels, coding, values);
                  if (by_step) {
                    MultiplyBySteps(run.Floats(ranges), channels, coding.largest, values);
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  }

  Codes codes;
  codes.ranges = ranges;
  codes.type = TypeOf(*held);
  codes.largest_code = coding.largest;
  codes.channel_axis = quantize.axis;
  codes.layout = view.layout;
  const TensorType type = op.InputType("X");
  codes.codes = op.builder().NewBuffer(absl::StrCat(op.OutputName(output), " as codes"),
                                       {codes.dtype(), type.dims}, view.layout);
  const NormalizedValue* normalized = FindNormalized(op.builder(), op.InputValue("X"));
  if (normalized != nullptr && !quantize.axis) {
    AddNormalizedCodes(op, *normalized, coding, codes);
  } else {
    ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", view.layout));
    op.AddStep({{x, ranges}, {codes.codes}, [=, channels = view.channels](const StepContext& run) {
                  WithCodes(codes, run, [&](auto span) {
                    kernels::Quantize(run.Floats(x), run.Floats(ranges), channels, coding, span);
                  });
                  return absl::OkStatus();
                }});
  }
  op.builder().WriteCodes(op.OutputValue(output), type, codes, /*holds_codes=*/!dequantizes);
  return absl::OkStatus();
}

}  // namespace

kernels::CodeType TypeOf(const CodeRange& held) { return CodeTypeOf(held.is_unsigned); }

absl::StatusOr<CodeOp> CodeOpOf(const OpPlanner& op) {
  RETURN_IF_ERROR(ReadCodeRange(op.attributes().op(), op.era(), kLeastBitsOfOps).status());
  const std::optional<CodeOp> read = ReadCodeOp(op.op(), op.era(), kLeastBitsOfOps);
  if (read) return *read;
  return absl::InvalidArgumentError("its result is absent; want an output for it");
}

absl::StatusOr<ChannelView> ViewChannels(const OpPlanner& op, std::optional<int> channel_axis) {
  const TensorType& type = op.InputType("X");
  ChannelView view{{}, op.InputLayout("X")};
  if (!channel_axis) {
    view.channels.inner = type.size();
    return view;
  }
  if (*channel_axis < 0 || *channel_axis >= static_cast<int>(type.dims.size())) {
    return absl::InvalidArgumentError(absl::StrCat("quant_axis is ", *channel_axis, " and X is ",
                                                   DimsText(type.dims), "; want an axis of X"));
  }
  view.layout = Layout::kRowMajor;
  view.channels.count = type.dims[*channel_axis];
  for (int i = 0; i < *channel_axis; ++i) view.channels.outer *= type.dims[i];
  for (size_t i = *channel_axis + 1; i < type.dims.size(); ++i) view.channels.inner *= type.dims[i];
  return view;
}

absl::StatusOr<Buffer> ReadNumber(OpPlanner& op, absl::string_view slot) {
  RETURN_IF_ERROR(op.CheckSize(slot, 1));
  return op.ReadFloats(slot);
}

std::optional<RunShape> RunShapeOfX(OpPlanner& op) {
  const RunShape* const shape = op.TakeAnyRunShape("X");
  return shape == nullptr ? std::nullopt : std::optional(*shape);
}

absl::Status AddQuantize(OpPlanner& op, const CodeOp& quantize, Buffer ranges) {
  const absl::string_view output = OpPlanner::SlotOf(*quantize.output);
  RETURN_IF_ERROR(ViewChannels(op, quantize.axis).status());
  if (!op.Wants(output)) return absl::OkStatus();
  RETURN_IF_ERROR(AddCodes(op, quantize, ranges));
  // A channel has a range for all of its rows.
  if (!quantize.axis) op.KeepRunShape("X", output);
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
