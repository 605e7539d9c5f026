// Sums and scales of whole tensors, clipping, and counters.

#include "runtime/kernels/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "ops/code_dtype.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/quantized.h"
#include "runtime/executor/ops/selected_rows.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/ops/wide_codes.h"
#include "runtime/kernels/activation.h"
#include "runtime/kernels/cast.h"

namespace fixpoint::executor {
namespace {

// The reference accepts any type of X: counters are scaled too. Both parameters are converted to
// X's type first.
absl::Status PlanScale(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("ScaleTensor"));
  const float scale = op.Number("scale");
  const float bias = op.Number("bias");
  const bool bias_after_scale = op.attributes().Bool("bias_after_scale");
  const auto order =
      bias_after_scale ? kernels::BiasOrder::kAfterFactor : kernels::BiasOrder::kBeforeFactor;
  if (const auto rows = FindRows(op, "X")) {
    PlanFunctionOfRows(op, *rows, {},
                       [=](const StepContext&, absl::Span<const float> x, absl::Span<float> y) {
                         kernels::Scale(x, scale, bias, order, y);
                       });
    return absl::OkStatus();
  }
  const Layout layout = op.InputLayout("X");
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype, layout));
  const Buffer y = op.WriteOver("Out", type, layout, x);
  op.KeepRunShape("X", "Out");
  if (type.dtype == VarType::FP32) {
    AddElementStep(op, {x}, y, [scale, bias, order](const kernels::ElementBlock& block) {
      kernels::Scale(block.In<float>(0), scale, bias, order, block.Out<float>());
    });
    return absl::OkStatus();
  }
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    const double by = static_cast<double>(kernels::Converted<T>(op.attributes().Float("scale")));
    const double plus = static_cast<double>(kernels::Converted<T>(op.attributes().Float("bias")));
    op.AddStep({{x}, {y}, [=](const StepContext& run) {
                  const absl::Span<T> from = run.Of<T>(x);
                  std::transform(from.begin(), from.end(), run.Of<T>(y).begin(), [=](T value) {
                    const double number = static_cast<double>(value);
                    return kernels::Converted<T>(bias_after_scale ? number * by + plus
                                                                  : (number + plus) * by);
                  });
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// Selected rows of tables of one type, one after the other and then merged, as the reference does.
absl::Status PlanSumOfRows(OpPlanner& op, const std::vector<TableRows>& terms) {
  TableRows all = terms[0];
  int64_t most = 0;
  std::vector<Buffer> reads;
  for (const TableRows& term : terms) {
    most += term.ids.size;
    for (const Buffer& buffer : term.buffers()) reads.push_back(buffer);
  }
  all.ids = op.Scratch("ids", VarType::INT64, most);
  all.values = op.Scratch("values", VarType::FP32, most * all.width);
  all.count = op.Scratch("count", VarType::INT64, 1);
  const Buffer order = op.Scratch("order", VarType::INT64, most);
  const Buffer ids = op.Scratch("all ids", VarType::INT64, most);
  const Buffer values = op.Scratch("all values", VarType::FP32, most * all.width);
  op.AddStep({reads,
              {all.ids, all.values, *all.count, order, ids, values},
              [=](const StepContext& run) {
                size_t count = 0;
                const auto width = static_cast<size_t>(all.width);
                for (const TableRows& term : terms) {
                  const kernels::SelectedRows rows = term.In(run);
                  std::copy(rows.ids.begin(), rows.ids.end(), run.Of<int64_t>(ids).begin() + count);
                  std::copy(rows.values.begin(), rows.values.end(),
                            run.Floats(values).begin() + count * width);
                  count += rows.ids.size();
                }
                run.Of<int64_t>(*all.count)[0] = kernels::MergeRows(
                    {run.Of<int64_t>(ids).first(count), run.Floats(values).first(count * width),
                     all.width},
                    run.Of<int64_t>(order).first(count), run.Of<int64_t>(all.ids).first(count),
                    run.Floats(all.values).first(count * width));
                absl::Span<float> rest = run.Floats(all.values).subspan(count * width);
                std::fill(rest.begin(), rest.end(), 0.0f);
                return absl::OkStatus();
              },
              "",
              0,
              "sum of rows"});
  WriteTable(op, "Out", op.InputType("X"), all);
  return absl::OkStatus();
}

absl::Status PlanSum(OpPlanner& op) {
  const int count = op.InputCount("X");
  if (count == 0) return absl::InvalidArgumentError("X has no argument; want one or more");
  if (op.builder().Attached<HeldArray>(op.InputValue("X")) != nullptr) return PlanSumOfArrays(op);
  std::vector<TableRows> rows;
  for (int i = 0; i < count; ++i) {
    const std::optional<TableRows> term = FindRows(op, "X", i);
    if (term && op.InputType("X", i) == op.InputType("X")) rows.push_back(*term);
  }
  if (static_cast<int>(rows.size()) == count) return PlanSumOfRows(op, rows);
  const Layout layout = op.InputLayout("X");
  const TensorType type = op.InputType("X");
  std::vector<Buffer> terms;
  for (int i = 0; i < count; ++i) {
    if (op.InputType("X", i) != type) {
      return absl::InvalidArgumentError(absl::StrCat("X[", i, "] is ",
                                                     DimsText(op.InputDims("X", i)), "; want ",
                                                     DimsText(type.dims), ", as X[0]"));
    }
    ASSIGN_OR_RETURN(const Buffer term, op.Read("X", type.dtype, layout, i));
    terms.push_back(term);
  }
  const Buffer sum = op.WriteAs("Out", type, layout);
  for (const Buffer& term : terms) op.builder().MayLieIn(sum, term);
  if (type.dtype == VarType::FP32) {
    AddElementStep(op, terms, sum, [count](const kernels::ElementBlock& block) {
      absl::InlinedVector<absl::Span<const float>, 8> values;
      for (int i = 0; i < count; ++i) values.push_back(block.In<float>(i));
      kernels::AddAll(values, block.Out<float>());
    });
    return absl::OkStatus();
  }
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({terms, {sum}, [=](const StepContext& run) {
                  const absl::Span<T> sums = run.Of<T>(sum);
                  for (size_t i = 0; i < sums.size(); ++i) {
                    double total = 0;
                    for (const Buffer& term : terms)
                      total += static_cast<double>(run.Of<T>(term)[i]);
                    sums[i] = kernels::Converted<T>(total);
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanIncrement(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  const double step = op.attributes().Float("step");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  const Buffer out = op.WriteOver("Out", type, Layout::kRowMajor, x);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    const double by = static_cast<double>(kernels::Converted<T>(step));
    op.AddStep({{x}, {out}, [=](const StepContext& run) {
                  const absl::Span<T> from = run.Of<T>(x);
                  std::transform(from.begin(), from.end(), run.Of<T>(out).begin(), [by](T value) {
                    return kernels::Converted<T>(static_cast<double>(value) + by);
                  });
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// Integers of 8 or 16 bits are converted only where something reads them as floats: they may be
// codes, and a dequantize op has their ranges.
absl::Status PlanCast(OpPlanner& op) {
  const Layout layout = op.InputLayout("X");
  const TensorType from_type = op.InputType("X");
  ASSIGN_OR_RETURN(const TensorType to_type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", from_type.dtype, layout));
  const bool out_is_kept = op.Wants("Out") && op.KeepsOutput("Out");
  if (from_type.dtype == VarType::INT8 && to_type.dtype == VarType::FP32 && op.Wants("Out") &&
      !out_is_kept) {
    Codes codes;
    codes.codes = x;
    codes.layout = layout;
    op.builder().WriteCodes(op.OutputValue("Out"), to_type, codes, /*holds_codes=*/true);
    return absl::OkStatus();
  }
  if (IsWideCodeDtype(from_type.dtype) && to_type.dtype == VarType::FP32 && op.Wants("Out") &&
      !out_is_kept) {
    WideCodes codes;
    codes.codes = x;
    codes.layout = layout;
    WriteWideNumbers(op, "Out", codes);
    return absl::OkStatus();
  }
  const Buffer out = op.WriteAs("Out", to_type, layout);
  op.KeepRunShape("X", "Out");
  const auto add_step = [&](auto from_element, auto to_element) {
    using From = decltype(from_element);
    using To = decltype(to_element);
    AddElementStep(op, {x}, out, [](const kernels::ElementBlock& block) {
      kernels::Cast<From, To>(block.In<From>(0), block.Out<To>());
    });
    return absl::OkStatus();
  };
  // Where the floats are kept.
  if (IsWideCodeDtype(from_type.dtype) && to_type.dtype == VarType::FP32) {
    return add_step(int16_t(), float());
  }
  return WithElementType(from_type.dtype, [&](auto from_element) {
    return WithElementType(to_type.dtype,
                           [&](auto to_element) { return add_step(from_element, to_element); });
  });
}

// The mean of no elements is NaN.
absl::Status PlanMean(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", op.InputLayout("X")));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, {1}});
  op.AddStep({{x}, {out}, [=](const StepContext& run) {
                const absl::Span<float> values = run.Floats(x);
                run.Floats(out)[0] =
                    static_cast<float>(kernels::Sum(values) / static_cast<double>(values.size()));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanMeanGradient(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", 1));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{dout}, {dx}, [=](const StepContext& run) {
                const absl::Span<float> values = run.Floats(dx);
                std::fill(values.begin(), values.end(),
                          run.Floats(dout)[0] / static_cast<float>(values.size()));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::StatusOr<kernels::Activation> ClipOf(const OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckAbsent("Min"));
  RETURN_IF_ERROR(op.CheckAbsent("Max"));
  return kernels::Activation{kernels::ActivationFunction::kClip, op.Number("min"),
                             op.Number("max")};
}

absl::Status PlanClip(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::Activation clip, ClipOf(op));
  if (const auto rows = FindRows(op, "X")) {
    PlanFunctionOfRows(op, Merged(op, "X", *rows), {},
                       [=](const StepContext&, absl::Span<const float> x, absl::Span<float> y) {
                         kernels::Activate(clip, x, y);
                       });
    return absl::OkStatus();
  }
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), layout, x);
  AddElementStep(op, {x}, y, [clip](const kernels::ElementBlock& block) {
    kernels::Activate(clip, block.In<float>(0), block.Out<float>());
  });
  return absl::OkStatus();
}

absl::Status PlanClipGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const kernels::Activation clip, ClipOf(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", op.InputDims("X")));
  const Layout layout = op.InputLayout("Out@GRAD");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", layout));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), layout, dy);
  AddElementStep(op, {x, dy}, dx, [clip](const kernels::ElementBlock& block) {
    kernels::ActivateBackward(clip, block.In<float>(0), block.In<float>(1), block.Out<float>());
  });
  return absl::OkStatus();
}

absl::Status PlanClipByNorm(OpPlanner& op) {
  const float max_norm = op.Number("max_norm");
  const auto clip = [max_norm](const StepContext&, absl::Span<const float> x, absl::Span<float> y) {
    const double norm = std::sqrt(kernels::SumOfSquares(x));
    const float factor = norm > max_norm ? static_cast<float>(max_norm / norm) : 1.0f;
    kernels::Scale(x, factor, 0.0f, kernels::BiasOrder::kAfterFactor, y);
  };
  if (const auto rows = FindRows(op, "X")) {
    PlanFunctionOfRows(op, Merged(op, "X", *rows), {}, clip);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), Layout::kRowMajor, x);
  op.AddStep({{x}, {y}, [=](const StepContext& run) {
                clip(run, run.Floats(x), run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanSquaredL2Norm(OpPlanner& op) {
  const RunShape* const decided = op.TakeAnyRunShape("X");
  const std::optional<RunShape> shape = decided != nullptr ? std::optional(*decided) : std::nullopt;
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", op.InputLayout("X")));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, {1}});
  std::vector<Buffer> reads = {x};
  if (shape) reads.push_back(shape->dims);
  op.AddStep({reads, {out}, [=](const StepContext& run) {
                const auto there = static_cast<size_t>(run.CountOf(shape, x.size));
                run.Floats(out)[0] =
                    static_cast<float>(kernels::SumOfSquares(run.Floats(x).first(there)));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanSquaredL2NormGradient(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", 1));
  const Layout layout = op.InputLayout("X");
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", layout));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), layout, x);
  op.AddStep({{x, dout}, {dx}, [=](const StepContext& run) {
                kernels::Scale(run.Floats(x), 2 * run.Floats(dout)[0], 0.0f,
                               kernels::BiasOrder::kAfterFactor, run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans ArithmeticPlans() {
  return {
      {"scale", PlanScale,
       [](const OpAttributes& op) { return op.Float("bias") == 0 || op.Float("scale") == 1; }},
      {"sum", PlanSum},
      {"increment", PlanIncrement},
      {"cast", PlanCast, AlwaysRoundsOnce},
      {"mean", PlanMean},
      {"mean_grad", PlanMeanGradient},
      {"clip", PlanClip, AlwaysRoundsOnce},
      {"clip_grad", PlanClipGradient},
      {"clip_by_norm", PlanClipByNorm},
      {"squared_l2_norm", PlanSquaredL2Norm},
      {"squared_l2_norm_grad", PlanSquaredL2NormGradient},
  };
}

}  // namespace fixpoint::executor
