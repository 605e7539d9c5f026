// The ops of lowered programs that add up: exact sums of codes and of their products, with their
// epilogues.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/bias_codes.h"
#include "ops/code_dtype.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/convolution.h"
#include "runtime/executor/ops/image_form.h"
#include "runtime/executor/ops/lowered_codes.h"
#include "runtime/executor/ops/on_integers.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/pooling.h"
#include "runtime/executor/ops/product.h"
#include "runtime/executor/ops/signed_weights.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_pooling.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/integer_transposed_convolution.h"

namespace fixpoint::executor {
namespace {

using kernels::CodeType;
using kernels::InputCoding;
using kernels::Output;
using kernels::OutputType;

// An op that sums products of codes, as its kernel sees it.
struct Sums {
  absl::string_view input_slot;
  absl::string_view weight_slot;  // "": sums of codes alone
  absl::string_view output_slot;
  Layout layout;
  int64_t channels;
  int64_t operations;
  int64_t products = 0;      // of a sum, at most
  bool has_offsets = false;  // the channels of weights have zero points
};

// What the stages of an epilogue read.
struct StageOperands {
  std::vector<std::optional<Buffer>> numbers;  // for each stage
  std::optional<Buffer> codes;                 // that a stage adds

  // The operands of all stages.
  absl::InlinedVector<absl::Span<const float>, 8> Numbers(const StepContext& run) const {
    absl::InlinedVector<absl::Span<const float>, 8> spans;
    for (const std::optional<Buffer>& operand : numbers) {
      spans.push_back(operand ? run.Floats(*operand) : absl::Span<float>());
    }
    return spans;
  }

  std::vector<Buffer> WithOperands(std::vector<Buffer> reads) const {
    for (const std::optional<Buffer>& operand : numbers) {
      if (operand) reads.push_back(*operand);
    }
    if (codes) reads.push_back(*codes);
    return reads;
  }
};

absl::StatusOr<StageOperands> ReadOperands(OpPlanner& op, const Epilogue& epilogue,
                                           const Sums& sums, const TensorType& output) {
  StageOperands operands;
  int index = 0;
  for (const EpilogueStage& stage : epilogue) {
    operands.numbers.push_back(std::nullopt);
    if (!stage.has_operand()) continue;
    const Dims& dims = op.InputDims("Operands", index);
    const bool fits = stage.is_of_channels()
                          ? op.InputType("Operands", index).size() == sums.channels
                          : dims == output.dims;
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("Operands[", index, "] of ", std::string(StageName(stage.kind)), " is ",
                       DimsText(dims), "; want ",
                       stage.is_of_channels() ? absl::StrCat(sums.channels, " channels")
                                              : DimsText(output.dims)));
    }
    if (stage.is_of_codes()) {
      if (operands.codes) return absl::UnimplementedError("codes are added twice; want once");
      ASSIGN_OR_RETURN(operands.codes, op.Read("Operands", CodeDtype(stage.is_of_unsigned_codes()),
                                               sums.layout, index));
    } else {
      const Layout layout = stage.is_of_channels() ? Layout::kRowMajor : sums.layout;
      ASSIGN_OR_RETURN(operands.numbers.back(), op.ReadFloats("Operands", layout, index));
    }
    ++index;
  }
  return operands;
}

std::string NameOf(const OpPlanner& op, const Epilogue& epilogue) {
  return absl::StrJoin(epilogue, "", [&](std::string* name, const EpilogueStage& stage) {
    absl::StrAppend(name, name->empty() ? op.type() : "", " + ", StageName(stage.kind));
  });
}

// What the kernel does with its sums, and what loops after it do: they add codes to results that
// are stored as floats.
struct SplitEpilogue {
  Epilogue fused;
  std::optional<EpilogueStage> sum_with_codes;
  Epilogue after;
};

SplitEpilogue Split(const Epilogue& epilogue, OutputType output) {
  const auto added = std::find_if(epilogue.begin(), epilogue.end(),
                                  [](const EpilogueStage& stage) { return stage.is_of_codes(); });
  if (output != OutputType::kFloat || added == epilogue.end()) return {epilogue, {}, {}};
  return {{epilogue.begin(), added}, *added, {added + 1, epilogue.end()}};
}

// Where sums go, and what is done around the kernel that adds them up.
struct StoredSums {
  SplitEpilogue split;
  StageOperands operands;
  OutputType type;
  Buffer output;

  // The kernel adds codes that lie in its output.
  bool starts_with_codes() const { return operands.codes && !split.sum_with_codes; }

  // `kernel` is run on the operands of the fused stages, and the output.
  template <typename Kernel>
  void Run(const StepContext& run, const Kernel& kernel) const {
    if (starts_with_codes()) {
      const absl::Span<uint8_t> added = run.Of<uint8_t>(*operands.codes);
      uint8_t* const out = run.Of<uint8_t>(output).data();
      if (out != added.data()) std::memcpy(out, added.data(), added.size());
    }
    const auto numbers = operands.Numbers(run);
    const kernels::EpilogueOperands spans = numbers;
    kernel(spans.first(split.fused.size()), OutputOf(run, output, type));
    if (split.sum_with_codes) {
      const absl::Span<float> out = run.Floats(output);
      AddCodes(*split.sum_with_codes, run.Of<uint8_t>(*operands.codes), out, out);
      kernels::Apply(split.after, spans.last(split.after.size()), out);
    }
  }
};

// For sums over `input`, whose place the output must not take.
absl::StatusOr<StoredSums> PlanStore(OpPlanner& op, const Epilogue& epilogue,
                                     const SplitEpilogue& split, const Sums& sums,
                                     const TensorType& type, Buffer input) {
  StoredSums stored{split, {}, OutputTypeOf(type.dtype), {}};
  ASSIGN_OR_RETURN(stored.operands, ReadOperands(op, epilogue, sums, type));
  const bool takes_place = stored.starts_with_codes() && *stored.operands.codes != input;
  stored.output = takes_place
                      ? op.WriteOver(sums.output_slot, type, sums.layout, *stored.operands.codes)
                      : op.WriteAs(sums.output_slot, type, sums.layout);
  return stored;
}

// One scale for each channel; one of all is repeated.
absl::StatusOr<Buffer> ReadScales(OpPlanner& op, int64_t channels) {
  if (op.InputType("Scales").size() != 1) RETURN_IF_ERROR(op.CheckSize("Scales", channels));
  ASSIGN_OR_RETURN(const Buffer scales, op.ReadFloats("Scales"));
  if (scales.size == channels) return scales;
  const Buffer repeated = op.Scratch("Scales", VarType::FP32, channels);
  op.AddStep({{scales},
              {repeated},
              [=](const StepContext& run) {
                const absl::Span<float> all = run.Floats(repeated);
                std::fill(all.begin(), all.end(), run.Floats(scales)[0]);
                return absl::OkStatus();
              },
              "",
              0,
              "repeat Scales"});
  return repeated;
}

// What a kernel reads besides codes and the operands of its epilogue.
struct ChannelOperands {
  int32_t zero_point = 0;  // of the inputs
  CodeType weight_type = CodeType::kInt8;
  int32_t weight_zero_point = 0;
  Buffer scales;
  std::optional<Buffer> bias;
  std::optional<Buffer> offsets;  // zero points of weights, one for each channel
  int64_t largest_bias = 0;       // beside sums of weights with zero points

  // Whether weights have a zero point other than the signed code 0.
  bool has_one_offset() const { return weight_zero_point != 0 || IsUnsigned(weight_type); }

  static absl::StatusOr<ChannelOperands> Read(OpPlanner& op, const Sums& sums, CodeType inputs) {
    ChannelOperands read;
    ASSIGN_OR_RETURN(read.scales, ReadScales(op, sums.channels));
    if (op.HasInput("Bias")) {
      RETURN_IF_ERROR(op.CheckSize("Bias", sums.channels));
      ASSIGN_OR_RETURN(read.bias, op.Read("Bias", VarType::INT32));
    }
    ASSIGN_OR_RETURN(read.zero_point, ZeroPointOf(op, "input_zero_point", inputs));
    if (sums.has_offsets) {
      RETURN_IF_ERROR(op.CheckSize("Offsets", sums.channels));
      ASSIGN_OR_RETURN(read.offsets, op.Read("Offsets", VarType::INT32));
    } else {
      ASSIGN_OR_RETURN(read.weight_type, CodeTypeOf(op, sums.weight_slot));
      ASSIGN_OR_RETURN(read.weight_zero_point,
                       ZeroPointOf(op, "weight_zero_point", read.weight_type));
    }
    const kernels::SumCoding coding = InputCoding(inputs, read.zero_point != 0);
    read.largest_bias = coding.WithWeightZeroPoints().Sum(sums.products).largest_bias();
    return read;
  }

  kernels::SumCoding CodingOf(CodeType inputs) const {
    kernels::SumCoding coding = InputCoding(inputs, zero_point != 0);
    if (offsets || has_one_offset()) coding = coding.WithWeightZeroPoints();
    return bias ? coding.WithBias() : coding;
  }
  std::vector<Buffer> WithReads(std::vector<Buffer> reads) const {
    reads.push_back(scales);
    if (bias) reads.push_back(*bias);
    return reads;
  }
  // Whether a bias is one that it can be.
  bool Fits(int32_t code) const {
    const bool is_small = !(offsets || has_one_offset()) || std::abs(int64_t{code}) <= largest_bias;
    return (offsets || IsBiasCode(code)) && is_small;
  }
  // Errors (kInvalidArgument): a bias or a zero point is one that it cannot be.
  absl::Status Check(const StepContext& run) const {
    if (offsets) RETURN_IF_ERROR(CheckWeightZeroPoints(run.Of<int32_t>(*offsets)));
    if (!bias) return absl::OkStatus();
    const absl::Span<const int32_t> codes = run.Of<int32_t>(*bias);
    // Every run does this: the loop has no branch, and the one after it finds the code to name.
    bool do_fit = true;
    for (const int32_t code : codes) do_fit &= Fits(code);
    if (do_fit) return absl::OkStatus();
    for (const int32_t code : codes) {
      if (!offsets) RETURN_IF_ERROR(CheckBiasCode(code, "a bias is"));
      if (Fits(code)) continue;
      return absl::InvalidArgumentError(absl::StrCat("a bias is ", code, "; want ", -largest_bias,
                                                     " to ", largest_bias,
                                                     ", which fit in 32 bits beside sums"));
    }
    return absl::OkStatus();
  }
  kernels::SumOperands In(const StepContext& run, Buffer input, Buffer packed) const {
    kernels::SumOperands operands = {run.Of<uint8_t>(input), run.Of<uint8_t>(packed),
                                     run.Floats(scales), zero_point};
    if (bias) operands.bias = run.Of<int32_t>(*bias);
    return operands;
  }
};

absl::StatusOr<SignedWeights> ReadWeights(OpPlanner& op, const Sums& sums,
                                          const ChannelOperands& channels) {
  ASSIGN_OR_RETURN(const Buffer codes, op.Read(sums.weight_slot, DtypeOf(channels.weight_type)));
  if (!channels.has_one_offset()) return SignedWeights{codes, channels.offsets};
  const auto zero_point = static_cast<float>(channels.weight_zero_point);
  return AddSignedWeights(
      op, codes, channels.weight_type, {}, [zero_point](const StepContext&) { return zero_point; },
      sums.channels);
}

// Adds the step. `plan` makes the kernel for a coding, an epilogue and an output.
template <typename Plan>
absl::Status AddSums(OpPlanner& op, const Sums& sums, const Plan& plan) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType(sums.output_slot));
  ASSIGN_OR_RETURN(const CodeType input_type, CodeTypeOf(op, sums.input_slot));
  ASSIGN_OR_RETURN(const Epilogue epilogue, EpilogueOf(op.attributes().op()));
  const OutputType output_type = OutputTypeOf(type.dtype);
  const SplitEpilogue split = Split(epilogue, output_type);
  ASSIGN_OR_RETURN(const ChannelOperands channels, ChannelOperands::Read(op, sums, input_type));
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::IntegerSums> kernel,
                   plan(channels.CodingOf(input_type), split.fused, output_type));
  ASSIGN_OR_RETURN(const Buffer input,
                   op.Read(sums.input_slot, op.InputType(sums.input_slot).dtype, sums.layout));
  ASSIGN_OR_RETURN(const SignedWeights weights, ReadWeights(op, sums, channels));
  const Buffer packed = AddPacking<int8_t>(op, kernel, weights.codes);
  ASSIGN_OR_RETURN(const StoredSums stored, PlanStore(op, epilogue, split, sums, type, input));
  std::vector<Buffer> reads = channels.WithReads({input, packed});
  if (weights.zero_points) reads.push_back(*weights.zero_points);
  op.AddStep({stored.operands.WithOperands(std::move(reads)),
              {stored.output},
              [=](const StepContext& run) {
                RETURN_IF_ERROR(channels.Check(run));
                kernels::SumOperands operands = channels.In(run, input, packed);
                if (weights.zero_points) {
                  operands.weight_zero_points = run.Of<int32_t>(*weights.zero_points);
                }
                stored.Run(run, [&](kernels::EpilogueOperands stages, Output out) {
                  operands.epilogue = stages;
                  kernel->Run(operands, out);
                });
                return absl::OkStatus();
              },
              kernel->implementation(),
              sums.operations,
              NameOf(op, epilogue)});
  return absl::OkStatus();
}

Layout LayoutOfImages(const OpPlanner& op) {
  return ImageForm(op.attributes().String("data_format")).layout();
}

absl::Status PlanConvolution(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::ConvolutionShape shape, ConvolutionShapeOf(op));
  const Sums sums = {"Input",       "Filter",
                     "Output",      LayoutOfImages(op),
                     shape.filters, 2 * shape.output_size() * shape.taps(),
                     shape.taps()};
  return AddSums(
      op, sums, [&](const kernels::SumCoding& coding, const Epilogue& epilogue, OutputType output) {
        return kernels::PlanIntegerConvolution(shape, coding, epilogue, output);
      });
}

absl::Status PlanTransposedConvolution(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Output"));
  ASSIGN_OR_RETURN(const kernels::ConvolutionShape shape, TransposedShapeOf(op, type.dims));
  const Sums sums = {"Input",
                     "Filter",
                     "Output",
                     LayoutOfImages(op),
                     shape.channels,
                     2 * shape.output_size() * shape.taps(),
                     shape.filter_size() / shape.channels};
  return AddSums(
      op, sums, [&](const kernels::SumCoding& coding, const Epilogue& epilogue, OutputType output) {
        return kernels::PlanIntegerTransposedConvolution(shape, coding, epilogue, output);
      });
}

absl::Status PlanProduct(OpPlanner& op, const absl::StatusOr<PlannedProduct>& product) {
  RETURN_IF_ERROR(product.status());
  RETURN_IF_ERROR(op.OutputType("Out").status());
  if (product->x || product->y || op.InputDims("Y").size() < 2) {
    return absl::UnimplementedError(absl::StrCat("X is ", DimsText(op.InputDims("X")), " and Y ",
                                                 DimsText(op.InputDims("Y")),
                                                 "; want as many matrices, or one Y"));
  }
  const kernels::ProductShape& shape = product->shape;
  const Sums sums = {
      "X",        "Y", "Out", Layout::kRowMajor, shape.columns, 2 * shape.out_size() * shape.inner,
      shape.inner};
  return AddSums(
      op, sums, [&](const kernels::SumCoding& coding, const Epilogue& epilogue, OutputType output) {
        return kernels::PlanIntegerProduct(shape, coding, epilogue, output);
      });
}

absl::Status PlanMul(OpPlanner& op) { return PlanProduct(op, MulProduct(op)); }

absl::Status PlanMatmul(OpPlanner& op) { return PlanProduct(op, MatmulV2Product(op)); }

absl::Status PlanRowWiseFc(OpPlanner& op) {
  RETURN_IF_ERROR(op.OutputType("Out").status());
  ASSIGN_OR_RETURN(const kernels::ProductShape shape,
                   FullyConnectedShape(op, "X", op.attributes().Int("x_num_col_dims"), "Y"));
  Sums sums = {
      "X",        "Y", "Out", Layout::kRowMajor, shape.columns, 2 * shape.out_size() * shape.inner,
      shape.inner};
  sums.has_offsets = true;
  return AddSums(
      op, sums, [&](const kernels::SumCoding& coding, const Epilogue& epilogue, OutputType output) {
        return kernels::PlanIntegerProduct(shape, coding, epilogue, output);
      });
}

absl::Status PlanAveragePooling(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::PoolingShape shape,
                   PoolingShapeOf(op, kernels::PoolingType::kAverage));
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const CodeType input_type, CodeTypeOf(op, "X"));
  ASSIGN_OR_RETURN(const int32_t zero_point, ZeroPointOf(op, "input_zero_point", input_type));
  ASSIGN_OR_RETURN(const Epilogue epilogue, EpilogueOf(op.attributes().op()));
  const OutputType output_type = OutputTypeOf(type.dtype);
  const SplitEpilogue split = Split(epilogue, output_type);
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::IntegerPooling> pooling,
                   kernels::IntegerPooling::Plan(shape, input_type, split.fused, output_type));
  const Sums sums = {"X", "", "Out", LayoutOfImages(op), shape.channels, 0};
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", op.InputType("X").dtype, sums.layout));
  RETURN_IF_ERROR(op.CheckSize("Scales", 1));
  ASSIGN_OR_RETURN(const Buffer scales, op.ReadFloats("Scales"));
  ASSIGN_OR_RETURN(const StoredSums stored, PlanStore(op, epilogue, split, sums, type, x));
  op.AddStep({stored.operands.WithOperands({x, scales}),
              {stored.output},
              [=](const StepContext& run) {
                stored.Run(run, [&](kernels::EpilogueOperands operands, Output out) {
                  pooling->Run(run.Of<uint8_t>(x), zero_point, run.Floats(scales)[0], operands,
                               out);
                });
                return absl::OkStatus();
              },
              pooling->implementation(),
              0,
              NameOf(op, epilogue)});
  return absl::OkStatus();
}

}  // namespace

OpPlans LoweredSumPlans() {
  return {{"integer_conv2d", PlanConvolution},
          {"integer_conv2d_transpose", PlanTransposedConvolution},
          {"integer_mul", PlanMul},
          {"integer_matmul", PlanMatmul},
          {"integer_row_wise_fc", PlanRowWiseFc},
          {"integer_average_pool2d", PlanAveragePooling}};
}

}  // namespace fixpoint::executor
