// The op that joins the tensors of an array, along one of their axes or along a new one. Where it
// is known before the run which tensors there are, so is what they give; else a run decides.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/tensor_arrays.h"
#include "runtime/executor/tensor_array.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

struct Axis {
  int64_t axis;
  bool is_new;

  // The extents that a tensor adds to the result.
  Dims PartOf(DimsView tensor) const {
    Dims part(tensor.begin(), tensor.end());
    if (is_new) part.insert(part.begin() + axis, 1);
    return part;
  }
};

struct Joined {
  Dims dims;
  std::vector<int64_t> extents;  // of each tensor along the axis
};

absl::StatusOr<Axis> AxisOf(const OpPlanner& op, DimsView tensor) {
  const int64_t given = op.attributes().Int("axis");
  const bool is_new = op.attributes().Bool("use_stack");
  const int64_t count = static_cast<int64_t>(tensor.size()) + (is_new ? 1 : 0);
  const Axis axis{given < 0 ? given + count : given, is_new};
  if (axis.axis >= 0 && axis.axis < count) return axis;
  return absl::InvalidArgumentError(
      absl::StrCat("axis is ", given, " and the tensors are ", DimsText(tensor)));
}

// What tensors of those extents give, {} standing for a place without one.
absl::StatusOr<Joined> Join(Axis axis, const std::vector<DimsView>& tensors) {
  if (tensors.empty() || tensors[0].empty()) {
    return absl::InvalidArgumentError("X has no first tensor; want tensors from place 0 on");
  }
  Joined joined{axis.PartOf(tensors[0]), {}};
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // OutIndex
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool is_there = !tensors[i].empty();
    const Dims part = is_there ? axis.PartOf(tensors[i]) : joined.dims;
    joined.dims[axis.axis] = part[axis.axis];
    if (!is_there || part != joined.dims) {
      return absl::InvalidArgumentError(
          absl::StrCat("X[", i, "] is ", is_there ? DimsText(tensors[i]) : "unset", " and X[0] ",
                       DimsText(tensors[0]), "; want them equal but for axis ", axis.axis));
    }
    if (part[axis.axis] > kMost - total) {
      return absl::InvalidArgumentError(absl::StrCat("the tensors have more than ", kMost,
                                                     " places on axis ", axis.axis, " together"));
    }
    joined.extents.push_back(part[axis.axis]);
    total += part[axis.axis];
  }
  joined.dims[axis.axis] = total;
  return joined;
}

// The most that the tensors of an array give.
absl::StatusOr<Joined> MostJoined(Axis axis, const HeldArray& held) {
  const int64_t most_size = *held.contents.most_size;
  Joined most{axis.PartOf(held.most.dims), std::vector<int64_t>(most_size)};
  ASSIGN_OR_RETURN(most.dims[axis.axis], ElementCount({most.dims[axis.axis], most_size}));
  RETURN_IF_ERROR(ElementCount(most.dims).status());
  return most;
}

// Whether a run decides no other extent of the result than the first.
bool DecidesOnlyRows(Axis axis, HeldArray::Varying varying) {
  using Varying = HeldArray::Varying;
  return axis.axis == 0 && varying <= (axis.is_new ? Varying::kNothing : Varying::kRows);
}

absl::StatusOr<Joined> KnownJoined(Axis axis, const std::vector<Dims>& tensors) {
  return Join(axis, std::vector<DimsView>(tensors.begin(), tensors.end()));
}

absl::StatusOr<Joined> JoinedInRun(Axis axis, const TensorArray& array) {
  std::vector<DimsView> tensors;
  for (int64_t i = 0; i < array.size(); ++i) {
    const TensorArray::Element* const element = array.Find(i);
    tensors.push_back(element != nullptr ? DimsView(element->dims) : DimsView());
  }
  return Join(axis, tensors);
}

// Copies the tensors beside one another, and zeros after them.
void CopyTensors(Axis axis, const TensorArray& array, const Dims& joined, absl::Span<uint8_t> out) {
  int64_t lines = 1;
  for (int64_t i = 0; i < axis.axis; ++i) lines *= joined[i];
  int64_t line_bytes = 0;
  for (int64_t i = 0; i < array.size() && lines > 0; ++i) {
    line_bytes += static_cast<int64_t>(array.Find(i)->bytes.size()) / lines;
  }
  int64_t begin = 0;
  for (int64_t i = 0; i < array.size() && lines > 0; ++i) {
    const std::vector<uint8_t>& from = array.Find(i)->bytes;
    const int64_t part = static_cast<int64_t>(from.size()) / lines;
    for (int64_t line = 0; line < lines && part > 0; ++line) {
      std::memcpy(out.data() + line * line_bytes + begin, from.data() + line * part, part);
    }
    begin += part;
  }
  std::fill(out.begin() + lines * line_bytes, out.end(), uint8_t{0});
}

absl::Status PlanJoin(OpPlanner& op) {
  ASSIGN_OR_RETURN(const HeldArray* found, ReadArray(op, "X"));
  const HeldArray held = *found;
  ASSIGN_OR_RETURN(const Axis axis, AxisOf(op, held.most.dims));
  if (!held.contents.most_size) {
    return absl::UnimplementedError(
        "how many tensors X has is known in the run alone; want them written in places that are "
        "known before it, such as those of a short loop that counts to a known number, or "
        "--backend=reference");
  }
  const bool is_known = held.contents.tensors.has_value();
  ASSIGN_OR_RETURN(const Joined most,
                   is_known ? KnownJoined(axis, *held.contents.tensors) : MostJoined(axis, held));
  const Buffer out = op.WriteAs("Out", {held.most.dtype, most.dims});
  const size_t out_bytes = out.size * ElementSize(held.most.dtype);
  const auto most_count = static_cast<int64_t>(most.extents.size());
  const Buffer extents = op.WriteAs("OutIndex", {VarType::INT32, {most_count}});
  std::vector<Buffer> writes = {out, extents};
  std::optional<RunShape> out_shape, extents_shape;
  if (!is_known) {
    out_shape =
        DecidesOnlyRows(axis, held.varying) ? op.DecideShape("Out") : op.DecideExtents("Out");
    extents_shape = op.DecideShape("OutIndex");
    writes.insert(writes.end(), {out_shape->dims, extents_shape->dims});
  }
  AddArrayStep(op, {}, std::move(writes), [=, array = held.array](const StepContext& run) {
    ASSIGN_OR_RETURN(const Joined joined, JoinedInRun(axis, *array));
    const bool fits = joined.extents.size() <= most.extents.size() &&
                      std::equal(joined.dims.begin(), joined.dims.end(), most.dims.begin(),
                                 [&](int64_t a, int64_t b) { return is_known ? a == b : a <= b; });
    if (!fits) {
      return absl::InternalError(absl::StrCat("X joins to ", DimsText(joined.dims),
                                              " and was planned for ", DimsText(most.dims)));
    }
    CopyTensors(axis, *array, joined.dims, {run.Of<uint8_t>(out).data(), out_bytes});
    const absl::Span<int32_t> index = run.Of<int32_t>(extents);
    std::fill(index.begin(), index.end(), 0);
    std::copy(joined.extents.begin(), joined.extents.end(), index.begin());
    if (!is_known) {
      std::copy(joined.dims.begin(), joined.dims.end(), run.Of<int64_t>(out_shape->dims).begin());
      run.Of<int64_t>(extents_shape->dims)[0] = static_cast<int64_t>(joined.extents.size());
    }
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

}  // namespace

OpPlans ArrayJoiningPlans() { return {{"tensor_array_to_tensor", PlanJoin}}; }

}  // namespace fixpoint::executor
