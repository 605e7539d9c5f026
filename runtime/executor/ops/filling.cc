// Constants and random tensors. runtime/random.h defines the numbers.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/kernels/cast.h"
#include "runtime/kernels/threads.h"
#include "runtime/random.h"

namespace fixpoint::executor {
namespace {

// The type that the attributes `shape` and `dtype` give, whatever the sizes are.
absl::StatusOr<TensorType> TypeAttributes(const OpPlanner& op) {
  TensorType type;
  ASSIGN_OR_RETURN(type.dtype, op.attributes().DataType("dtype"));
  const std::vector<int64_t> shape = op.attributes().Ints("shape");
  type.dims.assign(shape.begin(), shape.end());
  return type;
}

absl::Status CheckSizes(const Dims& dims) {
  if (std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; })) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the shape is ", DimsText(dims), "; want no negative sizes"));
}

// A scalar is [1] in plans.
absl::StatusOr<TensorType> FilledType(const OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("ShapeTensor"));
  RETURN_IF_ERROR(op.CheckAbsent("ShapeTensorList"));
  ASSIGN_OR_RETURN(TensorType type, TypeAttributes(op));
  if (type.dims.empty()) type.dims = {1};
  RETURN_IF_ERROR(CheckSizes(type.dims));
  return type;
}

// str_value takes precedence over value if it is not empty.
absl::StatusOr<double> FilledValue(const OpPlanner& op) {
  const std::string text = op.attributes().String("str_value");
  double value = op.attributes().Float("value");
  if (!text.empty() && !absl::SimpleAtod(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("str_value is \"", text, "\"; want a number, \"inf\", \"-inf\" or \"nan\""));
  }
  return value;
}

// Adds the step that fills Out.
absl::Status AddFill(OpPlanner& op, const TensorType& type, double value) {
  const Buffer out = op.WriteAs("Out", type);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    const T held = kernels::Converted<T>(value);
    AddElementStep(op, {}, out, [held](const kernels::ElementBlock& block) {
      const absl::Span<T> elements = block.Out<T>();
      std::fill(elements.begin(), elements.end(), held);
    });
    return absl::OkStatus();
  });
}

absl::Status PlanFillConstant(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("ValueTensor"));
  ASSIGN_OR_RETURN(const double value, FilledValue(op));
  ASSIGN_OR_RETURN(const TensorType type, FilledType(op));
  return AddFill(op, type, value);
}

// `shape`, but as long as Input on one axis; for sequences, as many rows as there are sequences.
absl::Status PlanFillBatchSizeLike(OpPlanner& op) {
  ASSIGN_OR_RETURN(const double value, FilledValue(op));
  const OpAttributes& attributes = op.attributes();
  const Dims& input = op.InputDims("Input");
  const LoD& lod = op.InputLod("Input");
  ASSIGN_OR_RETURN(TensorType type, TypeAttributes(op));
  ASSIGN_OR_RETURN(const int from,
                   NormalizeAxis(attributes.Int("input_dim_idx"), static_cast<int>(input.size())));
  ASSIGN_OR_RETURN(const int to, NormalizeAxis(attributes.Int("output_dim_idx"),
                                               static_cast<int>(type.dims.size())));
  const bool counts_sequences = from == 0 && !lod.empty() && !lod.back().empty();
  type.dims[to] = counts_sequences ? static_cast<int64_t>(lod.back().size()) - 1 : input[from];
  RETURN_IF_ERROR(CheckSizes(type.dims));
  return AddFill(op, type, value);
}

absl::Status PlanFillZerosLike(OpPlanner& op) { return AddFill(op, op.InputType("X"), 0); }

absl::Status PlanFillAnyLike(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  return AddFill(op, type, op.attributes().Float("value"));
}

// Adds the step that writes those numbers to Out.
absl::Status AddValues(OpPlanner& op, const TensorType& type, const std::vector<double>& values) {
  if (static_cast<int64_t>(values.size()) != type.size()) {
    return absl::InvalidArgumentError(absl::StrCat("Out is ", DimsText(type.dims),
                                                   " and there are ", values.size(),
                                                   " values; want ", type.size()));
  }
  const Buffer out = op.WriteAs("Out", type);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{}, {out}, [=](const StepContext& run) {
                  std::transform(values.begin(), values.end(), run.Of<T>(out).begin(),
                                 [](double value) { return kernels::Converted<T>(value); });
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// The values are in the list that goes with dtype.
absl::Status PlanAssignValue(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, FilledType(op));
  if (type.dtype == VarType::FP32) {
    return AddValues(op, type, op.attributes().Floats("fp32_values"));
  }
  if (type.dtype == VarType::FP64) {
    return AddValues(op, type, op.attributes().Floats("fp64_values"));
  }
  const char* list = type.dtype == VarType::BOOL    ? "bool_values"
                     : type.dtype == VarType::INT64 ? "int64_values"
                                                    : "int32_values";
  const std::vector<int64_t> integers = op.attributes().Ints(list);
  return AddValues(op, type, {integers.begin(), integers.end()});
}

absl::Status PlanShape(OpPlanner& op) {
  const Dims& dims = op.InputDims("Input");
  if (const RunShape* const shape = op.TakeAnyRunShape("Input"); shape != nullptr) {
    const Buffer out = op.WriteAs("Out", {VarType::INT32, {static_cast<int64_t>(dims.size())}});
    op.AddStep({{shape->dims}, {out}, [from = shape->dims, out](const StepContext& run) {
                  const absl::Span<const int64_t> there = run.Of<int64_t>(from);
                  std::copy(there.begin(), there.end(), run.Of<int32_t>(out).begin());
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  }
  return AddValues(op, {VarType::INT32, {static_cast<int64_t>(dims.size())}},
                   {dims.begin(), dims.end()});
}

// Reads a number that decides the length of a tensor.
absl::StatusOr<double> KnownNumber(OpPlanner& op, absl::string_view slot) {
  const auto known = op.builder().FindKnown(op.InputValue(slot));
  if (known && known->size() == 1) return known->front();
  return absl::UnimplementedError(absl::StrCat(
      "input ", slot, " is not known before the run; want what shapes and constants decide"));
}

// Start, Start + Step, ... before End.
absl::Status PlanRange(OpPlanner& op) {
  ASSIGN_OR_RETURN(const double start, KnownNumber(op, "Start"));
  ASSIGN_OR_RETURN(const double end, KnownNumber(op, "End"));
  ASSIGN_OR_RETURN(const double step, KnownNumber(op, "Step"));
  const double count = std::ceil((end - start) / step);
  constexpr double kMost = 1 << 30;
  if (!(count >= 1 && count <= kMost)) {
    return absl::InvalidArgumentError(absl::StrCat("the range from ", start, " to ", end,
                                                   " in steps of ", step,
                                                   " is empty, or has no end; want numbers"));
  }
  const TensorType type{op.InputType("Start").dtype, {static_cast<int64_t>(count)}};
  const Buffer out = op.WriteAs("Out", type);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{}, {out}, [=](const StepContext& run) {
                  const absl::Span<T> elements = run.Of<T>(out);
                  for (size_t i = 0; i < elements.size(); ++i) {
                    elements[i] = kernels::Converted<T>(start + static_cast<double>(i) * step);
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// A number takes about as long as moving so many.
constexpr int64_t kBytesPerDraw = 256;

// Adds the step that fills Out with draw(numbers, i).
template <typename Draw>
absl::Status PlanDraw(OpPlanner& op, Draw draw) {
  ASSIGN_OR_RETURN(const TensorType type, FilledType(op));
  const Buffer out = op.WriteAs("Out", type);
  const int64_t seed = op.attributes().Int("seed");
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    StepKernel fill{{}, {out}, [=, number = op.number()](const StepContext& run) {
                      const RandomStream random = run.Random(number, seed);
                      const absl::Span<T> elements = run.Of<T>(out);
                      const auto size = static_cast<int64_t>(elements.size());
                      kernels::RunOnThreads(kernels::ThreadsFor(size, kBytesPerDraw), size,
                                            [&](int, int64_t begin, int64_t end) {
                                              for (int64_t i = begin; i < end; ++i) {
                                                elements[i] =
                                                    kernels::Converted<T>(draw(random, i));
                                              }
                                            });
                      return absl::OkStatus();
                    }};
    fill.in_each_run = true;
    op.AddStep(std::move(fill));
    return absl::OkStatus();
  });
}

absl::Status PlanUniform(OpPlanner& op) {
  if (op.attributes().Int("diag_num") != 0) {
    return absl::UnimplementedError(
        absl::StrCat("diag_num is ", op.attributes().Int("diag_num"), "; want 0, no diagonal"));
  }
  const double min = op.attributes().Float("min");
  const double max = op.attributes().Float("max");
  return PlanDraw(op, [=](const RandomStream& random, uint64_t i) {
    return min + (max - min) * random.Uniform(i);
  });
}

using Drawing = double (RandomStream::*)(uint64_t i) const;
absl::Status PlanNormal(OpPlanner& op, Drawing drawing) {
  const double mean = op.attributes().Float("mean");
  const double stddev = op.attributes().Float("std");
  return PlanDraw(op, [=](const RandomStream& random, uint64_t i) {
    return mean + stddev * (random.*drawing)(i);
  });
}

}  // namespace

OpPlans FillingPlans() {
  return {
      {"fill_constant", PlanFillConstant, AlwaysRoundsOnce},
      {"fill_constant_batch_size_like", PlanFillBatchSizeLike},
      {"fill_zeros_like", PlanFillZerosLike, AlwaysRoundsOnce},
      {"fill_any_like", PlanFillAnyLike, AlwaysRoundsOnce},
      {"assign_value", PlanAssignValue, AlwaysRoundsOnce},
      {"shape", PlanShape},
      {"range", PlanRange},
      {"uniform_random", PlanUniform},
      {"gaussian_random", [](OpPlanner& op) { return PlanNormal(op, &RandomStream::Normal); }},
      {"truncated_gaussian_random",
       [](OpPlanner& op) { return PlanNormal(op, &RandomStream::TruncatedNormal); }},
  };
}

}  // namespace fixpoint::executor
