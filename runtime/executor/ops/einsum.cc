// Sums of products along named axes. Two operands are a product of matrices where each axis is of
// both, or of one and of the result; what remains is plain loops.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/einsum_equation.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/product.h"

namespace fixpoint::executor {
namespace {

using Strides = std::vector<int64_t>;

// A tensor of an equation: an operand, its gradient, or the result.
struct Term {
  std::vector<int> axes;
  Dims dims;
  Buffer buffer;
};

struct Einsum {
  EinsumEquation equation;
  Dims sizes;
  std::vector<Dims> dims;  // of the operands
  Dims out;                // [1] for a scalar

  Strides StridesOf(const Term& term) const {
    return EinsumStrides(equation, term.axes, term.dims);
  }
  Term Operand(size_t i, Buffer buffer) const { return {equation.operands[i], dims[i], buffer}; }
  Term Result(Buffer buffer) const {
    return {equation.result, equation.result.empty() ? Dims{} : out, buffer};
  }
};

absl::StatusOr<Einsum> EinsumOf(const OpPlanner& op, absl::string_view slot) {
  Einsum einsum;
  std::vector<int> ranks;
  for (int i = 0; i < op.InputCount(slot); ++i) {
    einsum.dims.push_back(op.InputDims(slot, i));
    ranks.push_back(static_cast<int>(einsum.dims.back().size()));
  }
  if (ranks.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(slot, " has no arguments; want some"));
  }
  ASSIGN_OR_RETURN(einsum.equation, ParseEinsum(op.attributes().String("equation"), ranks));
  ASSIGN_OR_RETURN(einsum.sizes, EinsumSizes(einsum.equation, einsum.dims));
  RETURN_IF_ERROR(ElementCount(einsum.sizes).status());
  for (const int axis : einsum.equation.result) einsum.out.push_back(einsum.sizes[axis]);
  if (einsum.out.empty()) einsum.out = {1};
  return einsum;
}

// Adds the step that sums the products of `factors` into `sum`.
void AddLoops(OpPlanner& op, const Einsum& einsum, const std::vector<Term>& factors,
              const Term& sum) {
  std::vector<Strides> strides = {einsum.StridesOf(sum)};
  std::vector<Buffer> reads;
  for (const Term& factor : factors) {
    strides.push_back(einsum.StridesOf(factor));
    reads.push_back(factor.buffer);
  }
  op.AddStep(
      {reads, {sum.buffer}, [=, sizes = einsum.sizes, to = sum.buffer](const StepContext& run) {
         const absl::Span<float> sums = run.Floats(to);
         std::fill(sums.begin(), sums.end(), 0.0f);
         std::vector<const float*> from;
         for (const Buffer buffer : reads) from.push_back(run.Floats(buffer).data());
         ForEachEinsumProduct(sizes, strides, [&](const std::vector<int64_t>& places) {
           float product = 1;
           for (size_t i = 0; i < from.size(); ++i) product *= from[i][places[i + 1]];
           sums[places[0]] += product;
         });
         return absl::OkStatus();
       }});
}

// Axes one after the other.
using AxisList = std::vector<int>;

// How two factors are matrices: [batch, rows, inner] times [batch, inner, columns].
struct Matrices {
  AxisList batch;
  AxisList rows;
  AxisList inner;
  AxisList columns;

  static AxisList Joined(AxisList a, const AxisList& b, const AxisList& c) {
    a.insert(a.end(), b.begin(), b.end());
    a.insert(a.end(), c.begin(), c.end());
    return a;
  }
};

// Nothing if a term repeats or sums elements of its own.
std::optional<Matrices> MatricesOf(const Einsum& einsum, const Term& x, const Term& y,
                                   const Term& sum) {
  Matrices matrices;
  for (int axis = 0; axis < einsum.equation.axis_count; ++axis) {
    const auto count = [&](const Term& term) {
      int times = 0;
      for (size_t k = 0; k < term.axes.size(); ++k) {
        const bool is_whole = term.axes[k] == axis;
        if (is_whole && term.dims[k] != einsum.sizes[axis]) return 2;
        times += is_whole;
      }
      return times;
    };
    const int in_x = count(x);
    const int in_y = count(y);
    const int in_sum = count(sum);
    if (in_x + in_y + in_sum < 2 || in_x > 1 || in_y > 1 || in_sum > 1) return std::nullopt;
    AxisList& list = !in_sum        ? matrices.inner
                     : in_x && in_y ? matrices.batch
                     : in_x         ? matrices.rows
                                    : matrices.columns;
    list.push_back(axis);
  }
  return matrices;
}

int64_t SizeOf(const Einsum& einsum, const AxisList& axes) {
  int64_t size = 1;
  for (const int axis : axes) size *= einsum.sizes[axis];
  return size;
}

// Adds the step that copies between a term and the same elements in the order of `axes`.
void AddReordering(OpPlanner& op, const Einsum& einsum, const Term& term, const AxisList& axes,
                   Buffer ordered, bool is_to_term) {
  const Strides own = einsum.StridesOf(term);
  Dims sizes;
  Strides strides;
  for (const int axis : axes) {
    sizes.push_back(einsum.sizes[axis]);
    strides.push_back(own[axis]);
  }
  const Buffer from = is_to_term ? ordered : term.buffer;
  const Buffer to = is_to_term ? term.buffer : ordered;
  op.AddStep({{from},
              {to},
              [=](const StepContext& run) {
                const float* const read = run.Floats(from).data();
                float* const written = run.Floats(to).data();
                int64_t i = 0;
                ForEachEinsumProduct(sizes, {strides}, [&](const std::vector<int64_t>& places) {
                  if (is_to_term) {
                    written[places[0]] = read[i++];
                  } else {
                    written[i++] = read[places[0]];
                  }
                });
                return absl::OkStatus();
              },
              "",
              0,
              "reorder axes"});
}

// The factor in the order of `axes`: itself where it is so.
Buffer Ordered(OpPlanner& op, const Einsum& einsum, const Term& term, const AxisList& axes) {
  if (term.axes == axes) return term.buffer;
  const Buffer ordered = op.Scratch("reordered", VarType::FP32, SizeOf(einsum, axes));
  AddReordering(op, einsum, term, axes, ordered, /*is_to_term=*/false);
  return ordered;
}

absl::Status AddSums(OpPlanner& op, const Einsum& einsum, const std::vector<Term>& factors,
                     const Term& sum) {
  std::optional<Matrices> matrices;
  if (factors.size() == 2) matrices = MatricesOf(einsum, factors[0], factors[1], sum);
  if (!matrices) {
    AddLoops(op, einsum, factors, sum);
    return absl::OkStatus();
  }
  const auto& [batch, rows, inner, columns] = *matrices;
  const Buffer x = Ordered(op, einsum, factors[0], Matrices::Joined(batch, rows, inner));
  const Buffer y = Ordered(op, einsum, factors[1], Matrices::Joined(batch, inner, columns));
  const AxisList order = Matrices::Joined(batch, rows, columns);
  const bool is_in_order = sum.axes == order;
  const Buffer out =
      is_in_order ? sum.buffer : op.Scratch("product", VarType::FP32, SizeOf(einsum, order));
  RETURN_IF_ERROR(AddProduct(
      op,
      {SizeOf(einsum, batch), SizeOf(einsum, rows), SizeOf(einsum, inner), SizeOf(einsum, columns)},
      1, x, y, out));
  if (!is_in_order) AddReordering(op, einsum, sum, order, out, /*is_to_term=*/true);
  return absl::OkStatus();
}

absl::Status PlanEinsum(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Einsum einsum, EinsumOf(op, "Operands"));
  std::vector<Term> factors;
  for (int i = 0; i < op.InputCount("Operands"); ++i) {
    ASSIGN_OR_RETURN(const Buffer buffer, op.ReadFloats("Operands", Layout::kRowMajor, i));
    factors.push_back(einsum.Operand(static_cast<size_t>(i), buffer));
    if (op.Wants("InnerCache", i)) {
      RETURN_IF_ERROR(
          op.builder().Share(op.OutputValue("InnerCache", i), op.InputValue("Operands", i)));
    }
    if (!op.Wants("XShape", i)) continue;
    Dims shape = {0};
    shape.insert(shape.end(), factors.back().dims.begin(), factors.back().dims.end());
    op.WriteAs("XShape", {VarType::FP32, shape}, Layout::kRowMajor, i);
  }
  const Buffer out = op.WriteAs("Out", {VarType::FP32, einsum.out});
  return AddSums(op, einsum, factors, einsum.Result(out));
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Einsum einsum, EinsumOf(op, "InnerCache"));
  int64_t size = 1;
  for (const int64_t dim : einsum.out) size *= dim;
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", size));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  std::vector<Term> operands;
  for (int i = 0; i < op.InputCount("InnerCache"); ++i) {
    ASSIGN_OR_RETURN(const Buffer buffer, op.ReadFloats("InnerCache", Layout::kRowMajor, i));
    operands.push_back(einsum.Operand(static_cast<size_t>(i), buffer));
  }
  for (int d = 0; d < static_cast<int>(operands.size()); ++d) {
    if (!op.Wants("Operands@GRAD", d)) continue;
    const Buffer gradient =
        op.WriteAs("Operands@GRAD", {VarType::FP32, operands[d].dims}, Layout::kRowMajor, d);
    std::vector<Term> factors = {einsum.Result(dout)};
    for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
      if (i != d) factors.push_back(operands[i]);
    }
    RETURN_IF_ERROR(AddSums(op, einsum, factors, {operands[d].axes, operands[d].dims, gradient}));
  }
  return absl::OkStatus();
}

}  // namespace

OpPlans EinsumPlans() { return {{"einsum", PlanEinsum}, {"einsum_grad", PlanGradient}}; }

}  // namespace fixpoint::executor
