#include "runtime/executor/ops/recurrence.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/state_codes.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/kernels/coded_recurrence.h"
#include "runtime/kernels/reduction.h"
#include "runtime/kernels/state_rounding.h"

namespace fixpoint::executor {
namespace {

Buffer Floats(OpPlanner& op, absl::string_view what, int64_t size) {
  return op.Scratch(what, VarType::FP32, size);
}

BufferPart Zeros(OpPlanner& op, absl::string_view what, int64_t size) {
  const Buffer zeros = Floats(op, what, size);
  AddZeros(op, zeros);
  return WholeOf(zeros);
}

absl::Span<float> In(const StepContext& run, const std::optional<Buffer>& buffer) {
  return buffer ? run.Floats(*buffer) : absl::Span<float>();
}

absl::Span<const float> In(const StepContext& run, const std::optional<BufferPart>& part) {
  return part ? part->In(run) : absl::Span<float>();
}

kernels::RecurrenceInputs InputsIn(const StepContext& run, const RecurrenceOperands& operands) {
  return {In(run, operands.bias),
          In(run, operands.inner_bias),
          In(run, operands.peepholes),
          In(run, operands.first_hidden),
          In(run, operands.first_cell),
          operands.lengths ? run.Of<int64_t>(*operands.lengths) : absl::Span<int64_t>()};
}

kernels::RecurrenceStates StatesIn(const StepContext& run, const PlannedRecurrence& planned) {
  return {run.Floats(planned.gates), run.Floats(planned.hidden), In(run, planned.cells),
          In(run, planned.inner)};
}

// Of all steps, besides what is packed.
void AppendReads(const RecurrenceOperands& operands, std::vector<Buffer>* reads) {
  for (const std::optional<BufferPart>* part :
       {&operands.bias, &operands.inner_bias, &operands.peepholes, &operands.first_hidden,
        &operands.first_cell}) {
    if (*part) reads->push_back((*part)->buffer);
  }
  if (operands.lengths) reads->push_back(*operands.lengths);
}

// Fills in what is absent and not 0 of itself.
void CompleteOperands(OpPlanner& op, const kernels::RecurrenceShape& shape,
                      RecurrenceOperands* operands) {
  const kernels::RecurrentCell& cell = shape.cell;
  const int64_t states = shape.batch() * cell.width;
  if (!operands->bias) operands->bias = Zeros(op, "bias", cell.columns());
  if (!operands->first_hidden) operands->first_hidden = Zeros(op, "first hidden", states);
  if (cell.has_cell() && !operands->first_cell) {
    operands->first_cell = Zeros(op, "first cell", states);
  }
}

int64_t OperationsOf(const kernels::RecurrenceShape& shape) {
  return 2 * shape.all_rows() * shape.cell.columns() * shape.cell.width;
}

template <typename T>
void Fill(const StepContext& run, Buffer buffer) {
  const absl::Span<T> values = run.Of<T>(buffer);
  std::fill(values.begin(), values.end(), T{0});
}

void CopyOrZero(const StepContext& run, const std::optional<BufferPart>& from,
                absl::Span<float> to) {
  if (from) {
    const absl::Span<float> values = from->In(run);
    std::copy(values.begin(), values.end(), to.begin());
  } else {
    std::fill(to.begin(), to.end(), 0.0f);
  }
}

}  // namespace

std::optional<Codes> FindWeightCodes(const OpPlanner& op, absl::string_view slot, int index,
                                     int axis) {
  const Codes* const held = op.builder().FindCodes(op.InputValue(slot, index));
  if (held == nullptr || held->type != kernels::CodeType::kInt8 || held->zero_point ||
      held->layout != Layout::kRowMajor || held->channel_axis.value_or(axis) != axis) {
    return std::nullopt;
  }
  return *held;
}

InputStep StepOfStates(int bits) {
  const float step = StepOf(kStateRange, LargestCode(bits));
  return {{}, [step](const StepContext&) { return step; }};
}

WeightCodes AddScales(OpPlanner& op, const Codes& weights, int64_t columns, const InputStep& step) {
  const Buffer scales = Floats(op, "scales", columns);
  std::vector<Buffer> reads = step.reads;
  reads.push_back(weights.ranges);
  op.AddStep({std::move(reads),
              {scales},
              [=](const StepContext& run) {
                const absl::Span<const float> ranges = run.Floats(weights.ranges);
                const absl::Span<float> to = run.Floats(scales);
                for (size_t c = 0; c < to.size(); ++c) {
                  to[c] = step.in(run)*StepOf(ranges[c % ranges.size()], weights.largest_code);
                }
                return absl::OkStatus();
              },
              "",
              0,
              "scales"});
  return {weights.codes, scales};
}

absl::StatusOr<WeightCodes> ReadLoweredWeights(OpPlanner& op, absl::string_view slot, int index,
                                               int scales_index, int64_t columns) {
  if (op.InputCount("Scales") <= scales_index) {
    return absl::InvalidArgumentError(absl::StrCat("Scales has ", op.InputCount("Scales"),
                                                   " arguments; want one for each matrix"));
  }
  if (op.InputType("Scales", scales_index).size() != columns) {
    return absl::InvalidArgumentError(absl::StrCat("Scales ", scales_index, " is ",
                                                   DimsText(op.InputDims("Scales", scales_index)),
                                                   "; want ", columns, " elements"));
  }
  ASSIGN_OR_RETURN(const Buffer codes, op.Read(slot, VarType::INT8, Layout::kRowMajor, index));
  ASSIGN_OR_RETURN(const Buffer scales, op.ReadFloats("Scales", Layout::kRowMajor, scales_index));
  return WeightCodes{codes, scales};
}

Buffer AddRoundedStates(OpPlanner& op, int bits, Buffer states) {
  const Buffer rounded = Floats(op, "rounded", states.size);
  op.AddStep({{states},
              {rounded},
              [=](const StepContext& run) {
                kernels::RoundStates(bits, states.size, run.Floats(states).data(),
                                     run.Floats(rounded).data());
                return absl::OkStatus();
              },
              "",
              0,
              "round states"});
  return rounded;
}

absl::StatusOr<PlannedRecurrence> AddRecurrence(OpPlanner& op, kernels::RecurrenceShape shape,
                                                RecurrenceOperands operands, Buffer sums,
                                                std::optional<Buffer> hidden) {
  std::shared_ptr<kernels::Recurrence> recurrence;
  std::shared_ptr<kernels::CodedRecurrence> coded;
  if (operands.codes) {
    ASSIGN_OR_RETURN(coded, kernels::CodedRecurrence::Plan(shape));
  } else {
    ASSIGN_OR_RETURN(recurrence, kernels::Recurrence::Plan(shape));
  }
  CompleteOperands(op, shape, &operands);
  const kernels::RecurrentCell& cell = shape.cell;
  const int64_t rows = shape.all_rows();
  PlannedRecurrence planned;
  planned.gates = Floats(op, "gates", rows * cell.columns());
  op.builder().MayLieIn(planned.gates, sums);
  planned.hidden = hidden ? *hidden : Floats(op, "hidden", rows * cell.width);
  if (cell.has_cell()) planned.cells = Floats(op, "cells", rows * cell.width);
  if (cell.keeps_inner()) planned.inner = Floats(op, "inner", rows * cell.width);
  const Buffer packed = coded ? AddPacking<int8_t>(op, coded, operands.codes->codes)
                              : AddPacking<float>(op, recurrence, *operands.weights);
  const Buffer scratch =
      Floats(op, "scratch", coded ? coded->scratch_size() : recurrence->scratch_size());
  const int64_t operations = OperationsOf(shape);
  planned.shape = std::move(shape);
  planned.operands = std::move(operands);

  StepKernel step;
  step.reads = {sums, packed};
  if (coded) step.reads.push_back(planned.operands.codes->scales);
  AppendReads(planned.operands, &step.reads);
  step.writes = {planned.gates, planned.hidden, scratch};
  if (planned.cells) step.writes.push_back(*planned.cells);
  if (planned.inner) step.writes.push_back(*planned.inner);
  step.run = [=](const StepContext& run) {
    if (coded) {
      coded->Run(run.Floats(sums), run.Of<uint8_t>(packed),
                 run.Floats(planned.operands.codes->scales), InputsIn(run, planned.operands),
                 StatesIn(run, planned), run.Floats(scratch));
    } else {
      recurrence->Run(run.Floats(sums), run.Of<uint8_t>(packed), InputsIn(run, planned.operands),
                      StatesIn(run, planned), run.Floats(scratch));
    }
    return absl::OkStatus();
  };
  step.implementation = coded ? coded->implementation() : recurrence->implementation();
  step.operations = operations;
  if (coded) step.name = absl::StrCat(op.type(), " on integers");
  if (coded) step.beside_floats = coded->beside_floats();
  op.AddStep(std::move(step));
  return planned;
}

absl::StatusOr<RecurrenceBack> AddRecurrenceBack(OpPlanner& op, const PlannedRecurrence& forward,
                                                 Buffer dstates,
                                                 std::optional<BufferPart> dlast_hidden,
                                                 std::optional<BufferPart> dlast_cell) {
  const kernels::RecurrenceShape& shape = forward.shape;
  const kernels::RecurrentCell& cell = shape.cell;
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::RecurrenceGradient> gradient,
                   kernels::RecurrenceGradient::Plan(shape));
  const Buffer packed = AddPacking<float>(op, gradient, *forward.operands.weights);
  const int64_t rows = shape.all_rows();
  const int64_t states = shape.batch() * cell.width;
  RecurrenceBack back;
  back.dsums = Floats(op, "dsums", rows * cell.columns());
  // The bias of kResetAfterGru is inside of what the reset gate multiplies.
  const bool has_products = cell.type == kernels::RecurrentCell::Type::kResetAfterGru;
  back.dproducts = has_products ? Floats(op, "dproducts", rows * cell.columns()) : back.dsums;
  back.before = Floats(op, "before", rows * cell.width);
  back.dhidden = Floats(op, "dhidden", states);
  back.dcell = Floats(op, "dcell", states);
  if (cell.has_peepholes) back.dpeepholes = Floats(op, "dpeepholes", 3 * rows * cell.width);
  const Buffer scratch = Floats(op, "scratch", gradient->scratch_size());

  StepKernel step;
  step.reads = {packed, forward.gates, forward.hidden, dstates};
  AppendReads(forward.operands, &step.reads);
  if (forward.cells) step.reads.push_back(*forward.cells);
  if (forward.inner) step.reads.push_back(*forward.inner);
  if (dlast_hidden) step.reads.push_back(dlast_hidden->buffer);
  if (dlast_cell) step.reads.push_back(dlast_cell->buffer);
  step.writes = {back.dsums, back.before, back.dhidden, back.dcell, scratch};
  if (has_products) step.writes.push_back(back.dproducts);
  if (back.dpeepholes) step.writes.push_back(*back.dpeepholes);
  step.run = [=](const StepContext& run) {
    CopyOrZero(run, dlast_hidden, run.Floats(back.dhidden));
    CopyOrZero(run, dlast_cell, run.Floats(back.dcell));
    gradient->Run(
        run.Of<uint8_t>(packed), InputsIn(run, forward.operands), StatesIn(run, forward),
        {run.Floats(dstates), run.Floats(back.dhidden), run.Floats(back.dcell),
         run.Floats(back.dsums), has_products ? run.Floats(back.dproducts) : absl::Span<float>(),
         run.Floats(back.before), In(run, back.dpeepholes)},
        run.Floats(scratch));
    return absl::OkStatus();
  };
  step.implementation = gradient->implementation();
  step.operations = OperationsOf(shape);
  op.AddStep(std::move(step));
  return back;
}

void AddZeros(OpPlanner& op, Buffer buffer) {
  op.AddStep({{},
              {buffer},
              [=](const StepContext& run) {
                Fill<float>(run, buffer);
                return absl::OkStatus();
              },
              "",
              0,
              "zeros"});
}

void DeferZeros(OpPlanner& op, absl::string_view slot, const TensorType& type) {
  if (!op.Wants(slot)) return;
  PlanBuilder& builder = op.builder();
  const bool is_float = type.dtype == VarType::FP32;
  builder.Defer(op.OutputValue(slot), type, Layout::kRowMajor, [&builder, is_float](Buffer zeros) {
    builder.AddStep({"zeros", nullptr, "", {}, {zeros}, 0, [=](const StepContext& run) {
                       if (is_float) {
                         Fill<float>(run, zeros);
                       } else {
                         Fill<uint8_t>(run, zeros);
                       }
                       return absl::OkStatus();
                     }});
  });
}

absl::Status AddColumnSums(OpPlanner& op, Buffer from, int64_t columns, Buffer to,
                           std::string name) {
  kernels::ReductionShape shape;
  shape.dims = {from.size / columns, columns};
  shape.axes = {0};
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::Reduction> reduction,
                   kernels::Reduction::Plan(shape));
  op.AddStep({{from},
              {to},
              [=](const StepContext& run) {
                reduction->Run(run.Floats(from), run.Floats(to));
                return absl::OkStatus();
              },
              reduction->implementation(),
              0,
              std::move(name)});
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
