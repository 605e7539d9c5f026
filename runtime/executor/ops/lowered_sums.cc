// The ops of lowered programs that add up: exact sums of codes and of their products, with their
// epilogues.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/bias_codes.h"
#include "ops/epilogue.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/broadcast_reading.h"
#include "runtime/executor/ops/convolution.h"
#include "runtime/executor/ops/image_form.h"
#include "runtime/executor/ops/lowered_codes.h"
#include "runtime/executor/ops/on_integers.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/pooling.h"
#include "runtime/executor/ops/product.h"
#include "runtime/executor/ops/product_rows.h"
#include "runtime/executor/ops/quantized_bias.h"
#include "runtime/executor/ops/signed_weights.h"
#include "runtime/executor/ops/stored_results.h"
#include "runtime/executor/ops/wide_codes.h"
#include "runtime/executor/step_rows.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/integer_elementwise.h"
#include "runtime/kernels/integer_pooling.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/integer_transposed_convolution.h"
#include "runtime/kernels/wide_sums.h"

namespace fixpoint::executor {
namespace {

using kernels::CodeType;
using kernels::InputCoding;
using kernels::Output;
using kernels::OutputType;

// An op that sums products of codes, as its kernel sees it.
struct Sums {
  absl::string_view input_slot;
  absl::string_view weight_slot;
  absl::string_view output_slot;
  Layout layout;
  int64_t channels;
  int64_t operations;
  int64_t products = 0;      // of a sum, at most
  bool has_offsets = false;  // the channels of weights have zero points
};

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
      ASSIGN_OR_RETURN(read.bias, ReadCodesOfBias(op, "Bias"));
    }
    ASSIGN_OR_RETURN(read.zero_point, ZeroPointOf(op, "input_zero_point", DtypeOf(inputs)));
    if (sums.has_offsets) {
      RETURN_IF_ERROR(op.CheckSize("Offsets", sums.channels));
      ASSIGN_OR_RETURN(read.offsets, op.Read("Offsets", VarType::INT32));
    } else {
      ASSIGN_OR_RETURN(read.weight_type, CodeTypeOf(op, sums.weight_slot));
      ASSIGN_OR_RETURN(read.weight_zero_point,
                       ZeroPointOf(op, "weight_zero_point", DtypeOf(read.weight_type)));
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

// What the step of sums runs.
struct SumsRun {
  std::shared_ptr<kernels::IntegerSums> kernel;
  ChannelOperands channels;
  Buffer input;
  Buffer packed;
  std::optional<Buffer> weight_zero_points;
  StoredResults stored;

  absl::Status operator()(const StepContext& run) const {
    RETURN_IF_ERROR(channels.Check(run));
    kernels::SumOperands operands = channels.In(run, input, packed);
    if (weight_zero_points) operands.weight_zero_points = run.Of<int32_t>(*weight_zero_points);
    stored.Run(run, [&](kernels::EpilogueOperands stages, Output out) {
      operands.epilogue = stages;
      kernel->Run(operands, out);
    });
    return absl::OkStatus();
  }

  // Whether it computes rows of the product one by one, without errors.
  bool HasRows(const kernels::ProductShape& shape) const {
    return !shape.transpose_x && (shape.batch == 1 || kernel->reads_plain_weights()) &&
           input != packed && !stored.starts_with_codes() && !channels.bias && !channels.offsets;
  }

  // Whether another kernel reads weights as this one has them.
  bool ReadsAlike(const kernels::IntegerSums& other) const {
    if (kernel->reads_plain_weights() || other.reads_plain_weights()) {
      return kernel->reads_plain_weights() && other.reads_plain_weights();
    }
    const std::string form = kernels::PackedFormOf(*kernel);
    return !form.empty() && form == kernels::PackedFormOf(other);
  }
};

// The rows of a product. REQUIRES: HasRows.
StepRows RowsOf(const SumsRun& whole, const kernels::ProductShape& shape,
                const kernels::SumCoding& coding) {
  ProductRows rows{shape, whole.input, whole.packed, {whole.stored.output}};
  for (const std::optional<Buffer>& numbers : whole.stored.operands.numbers) {
    if (numbers && numbers->size == shape.out_size()) rows.elements.push_back(*numbers);
  }
  if (whole.stored.operands.codes) rows.elements.push_back(*whole.stored.operands.codes);
  return {rows.count(), rows.parts(), [=](int64_t count) -> absl::StatusOr<StepRows::Run> {
            SumsRun block = whole;
            StoredResults& stored = block.stored;
            ASSIGN_OR_RETURN(const kernels::ProductShape of_block, rows.ShapeOf(count));
            ASSIGN_OR_RETURN(block.kernel, kernels::PlanIntegerProduct(
                                               of_block, coding, stored.split.fused, stored.type));
            if (!whole.ReadsAlike(*block.kernel)) {
              return absl::UnimplementedError("the kernel of a block packs weights differently");
            }
            block.input = rows.OfRows(whole.input, count);
            block.packed = rows.OfMatrices(whole.packed, of_block);
            stored.output = rows.OfRows(whole.stored.output, count);
            for (std::optional<Buffer>& numbers : stored.operands.numbers) {
              if (numbers && numbers->size == shape.out_size()) {
                numbers = rows.OfRows(*numbers, count);
              }
            }
            if (stored.operands.codes) {
              stored.operands.codes = rows.OfRows(*stored.operands.codes, count);
            }
            return [block](const StepContext& run) { block(run).IgnoreError(); };
          }};
}

// Adds the step. `plan` makes the kernel for a coding, an epilogue and an output. `product`: what
// is computed, if it is one of matrices.
template <typename Plan>
absl::Status AddSums(OpPlanner& op, const Sums& sums, const Plan& plan,
                     const kernels::ProductShape* product = nullptr) {
  ASSIGN_OR_RETURN(const StoredOutput output,
                   StoredOutputOf(op, sums.output_slot, sums.layout, sums.channels));
  ASSIGN_OR_RETURN(const CodeType input_type, CodeTypeOf(op, sums.input_slot));
  ASSIGN_OR_RETURN(const ChannelOperands channels, ChannelOperands::Read(op, sums, input_type));
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::IntegerSums> kernel,
                   plan(channels.CodingOf(input_type), output.split().fused, output.output_type()));
  ASSIGN_OR_RETURN(const Buffer input,
                   op.Read(sums.input_slot, op.InputType(sums.input_slot).dtype, sums.layout));
  ASSIGN_OR_RETURN(const SignedWeights weights, ReadWeights(op, sums, channels));
  const Buffer packed = AddPacking<int8_t>(op, kernel, weights.codes);
  ASSIGN_OR_RETURN(const StoredResults stored, PlanStore(op, output, {input, packed}));
  std::vector<Buffer> reads = channels.WithReads({input, packed});
  if (weights.zero_points) reads.push_back(*weights.zero_points);
  const SumsRun run{kernel, channels, input, packed, weights.zero_points, stored};
  StepKernel step{stored.operands.WithOperands(std::move(reads)),
                  {stored.output},
                  run,
                  kernel->implementation(),
                  sums.operations,
                  output.NameOf(op)};
  step.beside_floats = kernel->beside_floats();
  if (product != nullptr && run.HasRows(*product)) {
    step.run = FunctionOfRows{run, RowsOf(run, *product, channels.CodingOf(input_type))};
  }
  op.AddStep(std::move(step));
  return absl::OkStatus();
}

// Whether an operand is wide codes: sums then have 64 bits. Error (kUnimplemented): one is no
// codes.
absl::StatusOr<bool> AreWide(const OpPlanner& op, const Sums& sums) {
  ASSIGN_OR_RETURN(const bool is_wide_input, IsWide(op, sums.input_slot));
  ASSIGN_OR_RETURN(const bool is_wide_weight, IsWide(op, sums.weight_slot));
  return is_wide_input || is_wide_weight;
}

// The codes in a slot as INT16.
absl::StatusOr<Buffer> ReadWidened(OpPlanner& op, absl::string_view slot, Layout layout) {
  const VarType::Type dtype = op.InputType(slot).dtype;
  ASSIGN_OR_RETURN(const Buffer codes, op.Read(slot, dtype, layout));
  return Widened(op, codes, dtype);
}

// Adds the step of such sums.
template <typename Shape>
absl::Status AddWideSums(OpPlanner& op, const Sums& sums, const Shape& shape) {
  for (const char* zero_point : {"input_zero_point", "weight_zero_point"}) {
    if (op.attributes().Int(zero_point) == 0) continue;
    return absl::UnimplementedError(
        absl::StrCat(zero_point, " is given, and codes have more than 8 bits; want none"));
  }
  if (op.HasInput("Bias")) {
    return absl::UnimplementedError("Bias is given, and codes have more than 8 bits; want none");
  }
  ASSIGN_OR_RETURN(const StoredOutput output,
                   StoredOutputOf(op, sums.output_slot, sums.layout, sums.channels));
  ASSIGN_OR_RETURN(const Buffer scales, ReadScales(op, sums.channels));
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::WideSums> kernel,
                   kernels::WideSums::Plan(shape, output.split().fused, output.output_type()));
  ASSIGN_OR_RETURN(const Buffer input, ReadWidened(op, sums.input_slot, sums.layout));
  ASSIGN_OR_RETURN(const Buffer weights, ReadWidened(op, sums.weight_slot, Layout::kRowMajor));
  const Buffer packed = AddPacking<int16_t>(op, kernel, weights);
  ASSIGN_OR_RETURN(const StoredResults stored, PlanStore(op, output, {input, packed}));
  op.AddStep({stored.operands.WithOperands({input, packed, scales}),
              {stored.output},
              [=](const StepContext& run) {
                stored.Run(run, [&](kernels::EpilogueOperands stages, Output out) {
                  kernel->Run(
                      {run.Of<int16_t>(input), run.Of<uint8_t>(packed), run.Floats(scales), stages},
                      out);
                });
                return absl::OkStatus();
              },
              kernel->implementation(),
              sums.operations,
              output.NameOf(op)});
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
  ASSIGN_OR_RETURN(const bool are_wide, AreWide(op, sums));
  if (are_wide) return AddWideSums(op, sums, shape);
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
  ASSIGN_OR_RETURN(const bool are_wide, AreWide(op, sums));
  if (are_wide) return AddWideSums(op, sums, shape);
  return AddSums(
      op, sums,
      [&](const kernels::SumCoding& coding, const Epilogue& epilogue, OutputType output) {
        return kernels::PlanIntegerProduct(shape, coding, epilogue, output);
      },
      &shape);
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
  ASSIGN_OR_RETURN(const StoredOutput output,
                   StoredOutputOf(op, "Out", LayoutOfImages(op), shape.channels));
  ASSIGN_OR_RETURN(const CodeType input_type, CodeTypeOf(op, "X"));
  ASSIGN_OR_RETURN(const int32_t zero_point,
                   ZeroPointOf(op, "input_zero_point", DtypeOf(input_type)));
  ASSIGN_OR_RETURN(
      std::shared_ptr<kernels::IntegerPooling> pooling,
      kernels::IntegerPooling::Plan(shape, input_type, output.split().fused, output.output_type()));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", op.InputType("X").dtype, output.layout));
  RETURN_IF_ERROR(op.CheckSize("Scales", 1));
  ASSIGN_OR_RETURN(const Buffer scales, op.ReadFloats("Scales"));
  ASSIGN_OR_RETURN(const StoredResults stored, PlanStore(op, output, {x}));
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
              output.NameOf(op)});
  return absl::OkStatus();
}

absl::Status PlanMultiplication(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  const auto rank = static_cast<int>(type.dims.size());
  const int channel_axis = TraitsOf(op.op()).ChannelAxis(rank);
  // Images lie channels last.
  const Layout layout = rank == 4 ? Layout::kChannelsLast : Layout::kRowMajor;
  const BroadcastReading reading =
      ReadBroadcast(op.InputDims("X"), layout, op.InputDims("Y"), op.attributes().Int("axis"));
  ASSIGN_OR_RETURN(const StoredOutput output,
                   StoredOutputOf(op, "Out", reading.x_layout, type.dims[channel_axis]));
  const SplitEpilogue split = output.split();
  const bool has_channels = std::any_of(output.epilogue.begin(), output.epilogue.end(),
                                        [](const EpilogueStage& s) { return s.is_of_channels(); });
  if (has_channels && reading.x_layout != layout) {
    return absl::UnimplementedError(
        absl::StrCat("X is ", DimsText(op.InputDims("X")), " and Y ", DimsText(op.InputDims("Y")),
                     ", and the epilogue has channels; want a Y that has pixels or channels, or 4 "
                     "dimensions"));
  }
  ASSIGN_OR_RETURN(const CodeType x_type, CodeTypeOf(op, "X"));
  ASSIGN_OR_RETURN(const CodeType y_type, CodeTypeOf(op, "Y"));
  ASSIGN_OR_RETURN(const int32_t x_zero, ZeroPointOf(op, "input_zero_point", DtypeOf(x_type)));
  ASSIGN_OR_RETURN(const int32_t y_zero, ZeroPointOf(op, "weight_zero_point", DtypeOf(y_type)));
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::IntegerMultiplication> product,
                   kernels::IntegerMultiplication::Plan(reading.shape, x_type, y_type, split.fused,
                                                        output.output_type()));
  RETURN_IF_ERROR(op.CheckSize("Scales", 1));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", op.InputType("X").dtype, reading.x_layout));
  ASSIGN_OR_RETURN(const Buffer y, op.Read("Y", op.InputType("Y").dtype, reading.y_layout));
  ASSIGN_OR_RETURN(const Buffer scales, op.ReadFloats("Scales"));
  ASSIGN_OR_RETURN(const StoredResults stored, PlanStore(op, output, {x, y}));
  op.AddStep({stored.operands.WithOperands({x, y, scales}),
              {stored.output},
              [=](const StepContext& run) {
                stored.Run(run, [&](kernels::EpilogueOperands operands, Output out) {
                  product->Run({run.Of<uint8_t>(x), x_zero}, {run.Of<uint8_t>(y), y_zero},
                               run.Floats(scales)[0], operands, out);
                });
                return absl::OkStatus();
              },
              product->implementation(),
              0,
              output.NameOf(op)});
  return absl::OkStatus();
}

}  // namespace

OpPlans LoweredSumPlans() {
  return {{"integer_conv2d", PlanConvolution},
          {"integer_conv2d_transpose", PlanTransposedConvolution},
          {"integer_mul", PlanMul},
          {"integer_matmul", PlanMatmul},
          {"integer_row_wise_fc", PlanRowWiseFc},
          {"integer_average_pool2d", PlanAveragePooling},
          {"integer_elementwise_mul", PlanMultiplication}};
}

}  // namespace fixpoint::executor
