// Arithmetic of two tensors, in the layout of the one that the other broadcasts to.

#include "runtime/kernels/elementwise.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/codes/added_codes.h"
#include "ops/codes/multiplied_codes.h"
#include "ops/op_schema.h"
#include "ops/placed_dims.h"
#include "proto/base/status_macros.h"
#include "proto/program/type_names.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/broadcast_reading.h"
#include "runtime/executor/ops/broadcast_rows.h"
#include "runtime/executor/ops/element_pairs.h"
#include "runtime/executor/ops/element_step.h"
#include "runtime/executor/ops/in_memory.h"
#include "runtime/executor/ops/planned_facts.h"
#include "runtime/executor/ops/residual.h"
#include "runtime/executor/ops/selected_rows.h"
#include "runtime/kernels/integer_elementwise.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

using kernels::Arithmetic;

// The product of codes, as floats.
absl::Status PlanProductOfCodes(OpPlanner& op) {
  const BroadcastReading reading = ReadBroadcast(op.InputDims("X"), op.InputLayout("X"),
                                                 op.InputDims("Y"), op.attributes().Int("axis"));
  ASSIGN_OR_RETURN(const std::optional<Codes> x,
                   op.builder().ReadCodes(op.InputValue("X"), reading.x_layout));
  ASSIGN_OR_RETURN(const std::optional<Codes> y,
                   op.builder().ReadCodes(op.InputValue("Y"), reading.y_layout));
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::IntegerMultiplication> product,
                   kernels::IntegerMultiplication::Plan(reading.shape, x->type, y->type));
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  const Buffer out = op.WriteAs("Out", type, reading.x_layout);
  std::vector<Buffer> reads = x->buffers();
  const std::vector<Buffer> of_y = y->buffers();
  reads.insert(reads.end(), of_y.begin(), of_y.end());
  const std::string implementation = product->implementation();
  op.AddStep({std::move(reads),
              {out},
              [=, x = *x, y = *y, product = std::move(product)](const StepContext& run) {
                const auto codes = [&run](const Codes& factor) {
                  return kernels::ElementwiseCodes{run.Of<uint8_t>(factor.codes),
                                                   static_cast<int32_t>(factor.ZeroPointIn(run))};
                };
                product->Run(codes(x), codes(y), x.StepIn(run) * y.StepIn(run), {},
                             run.Floats(out));
                return absl::OkStatus();
              },
              implementation,
              0,
              absl::StrCat(op.type(), " on integers")});
  return absl::OkStatus();
}

// Selected rows by one number.
absl::Status PlanMultipleOfRows(OpPlanner& op, const TableRows& rows) {
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  PlanFunctionOfRows(
      op, rows, {y},
      [y](const StepContext& run, absl::Span<const float> x, absl::Span<float> products) {
        const float factor = run.Floats(y)[0];
        std::transform(x.begin(), x.end(), products.begin(),
                       [factor](float element) { return element * factor; });
      });
  return absl::OkStatus();
}

// A result that the type does not hold is the nearest one that it does, as on the interpreter.
template <typename T>
T OfIntegers(Arithmetic arithmetic, T x, T y) {
  const auto or_nearest = [](bool overflows, T result, bool is_negative) {
    if (!overflows) return result;
    return is_negative ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  };
  T result = 0;
  switch (arithmetic) {
    case Arithmetic::kAdd: {
      const bool overflows = __builtin_add_overflow(x, y, &result);
      return or_nearest(overflows, result, x < 0);
    }
    case Arithmetic::kSub: {
      const bool overflows = __builtin_sub_overflow(x, y, &result);
      return or_nearest(overflows, result, x < 0);
    }
    case Arithmetic::kMul: {
      const bool overflows = __builtin_mul_overflow(x, y, &result);
      return or_nearest(overflows, result, (x < 0) != (y < 0));
    }
    case Arithmetic::kMax:
      return std::max(x, y);
    default:
      return std::min(x, y);
  }
}

template <typename T>
absl::Status PlanIntegers(OpPlanner& op, Arithmetic arithmetic) {
  constexpr VarType::Type kType = DataTypeOf<T>();
  ASSIGN_OR_RETURN(const Pairing pairing, PairingOf(op));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", kType));
  ASSIGN_OR_RETURN(const Buffer y, op.Read("Y", kType));
  const Buffer out = op.WriteAs("Out", {kType, pairing.dims});
  op.AddStep({{x, y}, {out}, [=](const StepContext& run) {
                const T* const a = run.Of<T>(x).data();
                const T* const b = run.Of<T>(y).data();
                T* const to = run.Of<T>(out).data();
                ForEachPair(pairing, out.size, [=](int64_t i, int64_t x_i, int64_t y_i) {
                  to[i] = OfIntegers<T>(arithmetic, a[x_i], b[y_i]);
                });
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanElementwise(OpPlanner& op, Arithmetic arithmetic) {
  if (arithmetic != Arithmetic::kDiv && arithmetic != Arithmetic::kPow) {
    const VarType::Type dtype = op.InputType("X").dtype;
    if (dtype == VarType::INT32) return PlanIntegers<int32_t>(op, arithmetic);
    if (dtype == VarType::INT64) return PlanIntegers<int64_t>(op, arithmetic);
  }
  if (arithmetic == Arithmetic::kMul && op.InputType("Y").size() == 1) {
    if (const auto rows = FindRows(op, "X")) return PlanMultipleOfRows(op, *rows);
  }
  const Dims& x_dims = op.InputDims("X");
  const Dims& y_dims = op.InputDims("Y");
  if (arithmetic == Arithmetic::kAdd && x_dims == y_dims) {
    const Argument* const codes = FindAddedCodes(op.op(), PlannedFacts(op));
    if (codes != nullptr) return PlanSumWithCodes(op, *codes);
  }
  if (MultipliesCodes(op.op(), PlannedFacts(op))) return PlanProductOfCodes(op);
  const BroadcastReading reading =
      ReadBroadcast(x_dims, op.InputLayout("X"), y_dims, op.attributes().Int("axis"));
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::Elementwise> elementwise,
                   kernels::Elementwise::Plan(arithmetic, reading.shape));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", reading.x_layout));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y", reading.y_layout));
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  const Buffer out = x.size == type.size()   ? op.WriteOver("Out", type, reading.x_layout, x)
                     : y.size == type.size() ? op.WriteOver("Out", type, reading.y_layout, y)
                                             : op.WriteAs("Out", type, reading.x_layout);
  StepKernel kernel{{x, y},
                    {out},
                    [=](const StepContext& run) {
                      elementwise->Run(run.Floats(x), run.Floats(y), run.Floats(out));
                      return absl::OkStatus();
                    },
                    elementwise->implementation()};
  const auto x_repetition = elementwise->x_repetition();
  const auto y_repetition = elementwise->y_repetition();
  if (x_repetition && y_repetition) {
    kernel.loops.push_back({out.size,
                            {{x, *x_repetition}, {y, *y_repetition}},
                            out,
                            std::nullopt,
                            [elementwise](const kernels::ElementBlock& block) {
                              elementwise->RunBlock(block.In<float>(0), block.In<float>(1),
                                                    block.Out<float>());
                            }});
  } else if (std::optional<StepRows> rows = RowsOfBroadcast(arithmetic, reading.shape, x, y, out)) {
    kernel.run = FunctionOfRows{std::move(kernel.run), *std::move(rows)};
  }
  op.AddStep(std::move(kernel));
  return absl::OkStatus();
}

// The gradient of a sum is that of each term, if it does not broadcast.
absl::StatusOr<bool> ShareGradient(OpPlanner& op, absl::string_view slot) {
  const std::string gradient = absl::StrCat(slot, kGradientSuffix);
  if (!op.Wants(gradient)) return true;
  if (op.InputDims(slot) != op.InputDims("Out@GRAD")) return false;
  RETURN_IF_ERROR(op.builder().Share(op.OutputValue(gradient), op.InputValue("Out@GRAD")));
  return true;
}

// Those of a step that computes gradients; x and y only if it reads them.
struct GradientBuffers {
  Buffer dout;
  std::optional<Buffer> x;
  std::optional<Buffer> y;
  std::optional<Buffer> dx;
  std::optional<Buffer> dy;
};

// The loops of that step; none if it is something else.
std::vector<ElementLoop> GradientLoops(const std::shared_ptr<kernels::Elementwise>& elementwise,
                                       const GradientBuffers& buffers) {
  using Floats = absl::Span<const float>;
  const int64_t size = buffers.dout.size;
  std::vector<ElementLoop::Operand> reads = {AtPlace(buffers.dout)};
  const bool is_linear = !buffers.x;
  if (!is_linear) {
    const auto x_repetition = elementwise->x_repetition();
    const auto y_repetition = elementwise->y_repetition();
    if (!x_repetition || !y_repetition) return {};
    reads.push_back({*buffers.x, *x_repetition});
    reads.push_back({*buffers.y, *y_repetition});
  }
  std::vector<ElementLoop> loops;
  const auto add = [&](const std::optional<Buffer>& gradient,
                       const std::optional<kernels::Folding>& folding, auto terms) {
    if (!gradient) return true;
    if (gradient->size != size && !folding) return false;
    loops.push_back({size, reads, *gradient, gradient->size == size ? std::nullopt : folding,
                     [=](const kernels::ElementBlock& block) {
                       const Floats dout = block.In<float>(0);
                       terms(is_linear ? Floats() : block.In<float>(1),
                             is_linear ? Floats() : block.In<float>(2), dout, block.Out<float>());
                     }});
    return true;
  };
  // The gradient of X may lie in that of the result, which the other still reads.
  const bool are_loops = add(buffers.dy, elementwise->dy_folding(),
                             [elementwise](Floats x, Floats y, Floats dout, absl::Span<float> dy) {
                               elementwise->TermsOfY(x, y, dout, dy);
                             }) &&
                         add(buffers.dx, elementwise->dx_folding(),
                             [elementwise](Floats x, Floats y, Floats dout, absl::Span<float> dx) {
                               elementwise->TermsOfX(x, y, dout, dx);
                             });
  return are_loops ? loops : std::vector<ElementLoop>();
}

absl::Status PlanGradient(OpPlanner& op, Arithmetic arithmetic) {
  for (const char* slot : {"X", "Y"}) {
    if (op.InputType(slot).dtype == VarType::FP32) continue;
    return absl::UnimplementedError(
        absl::StrCat("input ", slot, " is ", TypeName(op.InputType(slot).dtype), "; want f32"));
  }
  bool wants_x = op.Wants("X@GRAD");
  bool wants_y = op.Wants("Y@GRAD");
  if (arithmetic == Arithmetic::kAdd) {
    ASSIGN_OR_RETURN(const bool x_is_done, ShareGradient(op, "X"));
    ASSIGN_OR_RETURN(const bool y_is_done, ShareGradient(op, "Y"));
    wants_x = !x_is_done;
    wants_y = !y_is_done;
  }
  if (!wants_x && !wants_y) return absl::OkStatus();
  const TensorType x_type = op.InputType("X");
  const TensorType y_type = op.InputType("Y");
  const BroadcastReading reading = ReadBroadcast(x_type.dims, op.InputLayout("Out@GRAD"),
                                                 y_type.dims, op.attributes().Int("axis"));
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::Elementwise> elementwise,
                   kernels::Elementwise::Plan(arithmetic, reading.shape));
  ASSIGN_OR_RETURN(const int64_t out_size, ElementCount(elementwise->out_dims()));
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", out_size));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD", reading.x_layout));
  std::vector<Buffer> reads = {dout};
  std::optional<Buffer> x;
  std::optional<Buffer> y;
  if (arithmetic != Arithmetic::kAdd && arithmetic != Arithmetic::kSub) {
    ASSIGN_OR_RETURN(x, op.ReadFloats("X", reading.x_layout));
    ASSIGN_OR_RETURN(y, op.ReadFloats("Y", reading.y_layout));
    reads.insert(reads.end(), {*x, *y});
  }
  std::vector<Buffer> writes;
  std::optional<Buffer> dx;
  std::optional<Buffer> dy;
  if (wants_x) {
    dx = op.WriteAs("X@GRAD", x_type, reading.x_layout);
    if (dx->size == dout.size && !wants_y) op.builder().MayLieIn(*dx, dout);
    writes.push_back(*dx);
  }
  if (wants_y) {
    dy = op.WriteAs("Y@GRAD", y_type, reading.y_layout);
    writes.push_back(*dy);
  }
  StepKernel kernel{reads, writes,
                    [=](const StepContext& run) {
                      const auto floats = [&](const std::optional<Buffer>& buffer) {
                        return buffer ? run.Floats(*buffer) : absl::Span<float>();
                      };
                      elementwise->Backward(floats(x), floats(y), run.Floats(dout), floats(dx),
                                            floats(dy));
                      return absl::OkStatus();
                    },
                    elementwise->implementation()};
  kernel.loops = GradientLoops(elementwise, {dout, x, y, dx, dy});
  op.AddStep(std::move(kernel));
  return absl::OkStatus();
}

}  // namespace

BroadcastReading ReadBroadcast(const Dims& x, Layout x_layout, const Dims& y, int64_t axis) {
  const BroadcastReading row_major{{x, y, axis}};
  if (x_layout != Layout::kChannelsLast || x.size() != 4 || y.size() > 4) return row_major;
  const absl::StatusOr<Dims> beside = PlacedDims(y, 4, axis);
  if (!beside.ok()) return row_major;
  const bool lies_alike = (*beside)[1] == 1 || (*beside)[2] * (*beside)[3] == 1;
  if (y.size() != 4 && !lies_alike) return row_major;
  return {{DimsInMemory(x, x_layout), DimsInMemory(*beside, x_layout), -1},
          Layout::kChannelsLast,
          y.size() == 4 ? Layout::kChannelsLast : Layout::kRowMajor};
}

OpPlans ElementwisePlans() {
  const std::pair<const char*, Arithmetic> ops[] = {
      {"elementwise_add", Arithmetic::kAdd}, {"elementwise_sub", Arithmetic::kSub},
      {"elementwise_mul", Arithmetic::kMul}, {"elementwise_div", Arithmetic::kDiv},
      {"elementwise_max", Arithmetic::kMax}, {"elementwise_min", Arithmetic::kMin},
      {"elementwise_pow", Arithmetic::kPow}};
  OpPlans plans;
  for (const auto& [type, arithmetic] : ops) {
    const RoundsOnce rounds_once = arithmetic == Arithmetic::kPow ? RoundsOnce() : AlwaysRoundsOnce;
    plans.push_back(
        {type, [arithmetic = arithmetic](OpPlanner& op) { return PlanElementwise(op, arithmetic); },
         rounds_once});
    const std::string gradient = absl::StrCat(type, "_grad");
    if (FindOpSchema(gradient) == nullptr) continue;
    plans.push_back({gradient, [arithmetic = arithmetic](OpPlanner& op) {
                       return PlanGradient(op, arithmetic);
                     }});
  }
  return plans;
}

}  // namespace fixpoint::executor
