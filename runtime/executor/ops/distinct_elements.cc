// Ops that pick elements by what they are: masked_select, and unique.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/run_shape.h"

namespace fixpoint::executor {
namespace {

absl::Status PlanMaskedSelect(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  RETURN_IF_ERROR(op.CheckDims("Mask", type.dims));
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  ASSIGN_OR_RETURN(const Buffer mask, op.Read("Mask", VarType::BOOL));
  const Buffer y = op.WriteAs("Y", {type.dtype, {type.size()}});
  const RunShape shape = op.DecideShape("Y");
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{x, mask}, {y, shape.dims}, [=](const StepContext& run) {
                  const absl::Span<const T> from = run.Of<T>(x);
                  const absl::Span<const bool> selects = run.Of<bool>(mask);
                  const absl::Span<T> to = run.Of<T>(y);
                  int64_t count = 0;
                  for (size_t i = 0; i < from.size(); ++i) {
                    if (selects[i]) to[count++] = from[i];
                  }
                  DecideRows(run, shape, {count}, to);
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

absl::Status PlanMaskedSelectGradient(OpPlanner& op) {
  const Dims& dims = op.InputDims("X");
  RETURN_IF_ERROR(op.CheckDims("Mask", dims));
  const ReadShape shape = ReadShape::Of(op, "Y@GRAD");
  if (shape.most.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Y@GRAD is ", DimsText(shape.most), "; want one dimension"));
  }
  ASSIGN_OR_RETURN(const Buffer mask, op.Read("Mask", VarType::BOOL));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Y@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", {VarType::FP32, dims});
  std::vector<Buffer> reads = shape.buffers();
  reads.insert(reads.end(), {mask, dy});
  op.AddStep({reads, {dx}, [=](const StepContext& run) {
                const absl::Span<const bool> selects = run.Of<bool>(mask);
                const absl::Span<const float> from = run.Floats(dy);
                const absl::Span<float> to = run.Floats(dx);
                const int64_t there = shape.DimsIn(run)[0];
                const int64_t count = std::count(selects.begin(), selects.end(), true);
                if (count != there) {
                  return absl::InvalidArgumentError(absl::StrCat(
                      "Y@GRAD is [", there, "]; want ", count, " elements, as Mask selects"));
                }
                int64_t next = 0;
                for (size_t i = 0; i < to.size(); ++i) to[i] = selects[i] ? from[next++] : 0;
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Which elements are different, by their places.
struct Distinct {
  std::vector<int64_t> first;   // where each is first
  std::vector<int64_t> index;   // which of them each element is
  std::vector<int64_t> counts;  // how often each is there
};

template <typename T>
Distinct DistinctOf(absl::Span<const T> x, bool is_sorted) {
  std::vector<int64_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [x](int64_t a, int64_t b) { return x[a] < x[b]; });
  // Runs of equal elements, the first of each in front.
  std::vector<int64_t> runs;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || x[order[i - 1]] != x[order[i]]) runs.push_back(static_cast<int64_t>(i));
  }
  runs.push_back(static_cast<int64_t>(order.size()));
  std::vector<int64_t> ranks(runs.size() - 1);
  std::iota(ranks.begin(), ranks.end(), 0);
  if (!is_sorted) {
    std::sort(ranks.begin(), ranks.end(),
              [&](int64_t a, int64_t b) { return order[runs[a]] < order[runs[b]]; });
  }
  Distinct distinct;
  distinct.index.resize(x.size());
  for (size_t place = 0; place < ranks.size(); ++place) {
    const int64_t begin = runs[ranks[place]];
    const int64_t end = runs[ranks[place] + 1];
    distinct.first.push_back(order[begin]);
    distinct.counts.push_back(end - begin);
    for (int64_t i = begin; i < end; ++i) distinct.index[order[i]] = static_cast<int64_t>(place);
  }
  return distinct;
}

// An output of one dimension, of which a run decides how long it is.
struct Decided {
  Buffer to;
  RunShape shape;
};

absl::Status PlanUnique(OpPlanner& op) {
  const TensorType type = op.InputType("X");
  ASSIGN_OR_RETURN(const VarType::Type dtype, op.attributes().DataType("dtype"));
  if (dtype != VarType::INT32 && dtype != VarType::INT64) {
    return absl::InvalidArgumentError("dtype is no type of indices; want i32 or i64");
  }
  const bool is_fluid = op.era() == Era::kFluid;
  if (!is_fluid && !op.attributes().Ints("axis").empty()) {
    return absl::UnimplementedError("axis is there; want the elements of X alone");
  }
  const bool is_sorted = !is_fluid && op.attributes().Bool("is_sorted");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  std::vector<Buffer> writes;
  const auto decide = [&](const char* slot, VarType::Type of) {
    Decided decided{op.WriteAs(slot, {of, {type.size()}}), op.DecideShape(slot)};
    writes.insert(writes.end(), {decided.to, decided.shape.dims});
    return decided;
  };
  const Decided out = decide("Out", type.dtype);
  std::vector<Decided> first;
  std::vector<Decided> counts;
  if (!is_fluid && op.Wants("Indices")) first.push_back(decide("Indices", dtype));
  if (!is_fluid && op.Wants("Counts")) counts.push_back(decide("Counts", dtype));
  const Buffer index = op.WriteAs("Index", {dtype, {type.size()}});
  writes.push_back(index);
  return WithElementType(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{x}, writes, [=](const StepContext& run) {
                  const absl::Span<const T> from = run.Of<T>(x);
                  if (std::any_of(from.begin(), from.end(), [](T e) { return e != e; })) {
                    return absl::InvalidArgumentError("X has a NaN; want numbers");
                  }
                  const Distinct distinct = DistinctOf(from, is_sorted);
                  const auto count = static_cast<int64_t>(distinct.first.size());
                  const absl::Span<T> elements = run.Of<T>(out.to);
                  for (int64_t i = 0; i < count; ++i) elements[i] = from[distinct.first[i]];
                  DecideRows(run, out.shape, {count}, elements);
                  const auto write = [&](auto as, const Decided& decided,
                                         const std::vector<int64_t>& values) {
                    WriteRows<decltype(as)>(run, decided.shape, {count}, values, decided.to);
                  };
                  const auto write_all = [&](auto as) {
                    using I = decltype(as);
                    for (const Decided& decided : first) write(as, decided, distinct.first);
                    for (const Decided& decided : counts) write(as, decided, distinct.counts);
                    std::transform(distinct.index.begin(), distinct.index.end(),
                                   run.Of<I>(index).begin(),
                                   [](int64_t place) { return static_cast<I>(place); });
                  };
                  if (dtype == VarType::INT32) {
                    write_all(int32_t());
                  } else {
                    write_all(int64_t());
                  }
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

}  // namespace

OpPlans DistinctElementsPlans() {
  return {{"masked_select", PlanMaskedSelect, AlwaysRoundsOnce},
          {"masked_select_grad", PlanMaskedSelectGradient},
          {"unique", PlanUnique, AlwaysRoundsOnce}};
}

}  // namespace fixpoint::executor
