// maxout: the largest of adjacent channels.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::executor {
namespace {

using kernels::Lines;

// Lines of channels, of which the largest is sought, and the dims of Out.
struct Channels {
  Lines groups;
  Dims out_dims;
};

absl::StatusOr<Channels> ChannelsOf(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const int64_t groups = op.attributes().Int("groups");
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(op.attributes().Int("axis"), static_cast<int>(x.size())));
  if (groups < 1 || x[axis] % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("groups is ", groups, " and X ", DimsText(x),
                                                   "; want a divisor of the ", x[axis],
                                                   " channels"));
  }
  Channels channels{{1, groups, 1}, x};
  for (int i = 0; i < static_cast<int>(x.size()); ++i) {
    if (i < axis) channels.groups.outer *= x[i];
    if (i > axis) channels.groups.inner *= x[i];
  }
  channels.groups.outer *= x[axis] / groups;
  channels.out_dims[axis] /= groups;
  return channels;
}

template <typename T>
void FindLargest(const Lines& groups, const T* x, T* out) {
  for (int64_t outer = 0; outer < groups.outer; ++outer) {
    std::copy_n(x, groups.inner, out);
    for (int64_t g = 1; g < groups.length; ++g) {
      const T* const channel = x + g * groups.inner;
      for (int64_t i = 0; i < groups.inner; ++i) out[i] = std::max(out[i], channel[i]);
    }
    x += groups.length * groups.inner;
    out += groups.inner;
  }
}

absl::Status PlanMaxout(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op));
  const VarType::Type dtype = op.InputType("X").dtype;
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", dtype));
  const Buffer out = op.WriteAs("Out", {dtype, channels.out_dims});
  return WithElementType(dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({{x}, {out}, [=, groups = channels.groups](const StepContext& run) {
                  FindLargest(groups, run.Of<T>(x).data(), run.Of<T>(out).data());
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

// The first of equal ones has the gradient.
absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Channels channels, ChannelsOf(op));
  for (const char* slot : {"Out", "Out@GRAD"}) {
    RETURN_IF_ERROR(op.CheckDims(slot, channels.out_dims));
  }
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer out, op.ReadFloats("Out"));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{x, out, dout}, {dx}, [=, groups = channels.groups](const StepContext& run) {
                const float* from = run.Floats(x).data();
                const float* largest = run.Floats(out).data();
                const float* gradient = run.Floats(dout).data();
                float* to = run.Floats(dx).data();
                std::fill_n(to, dx.size, 0.0f);
                const int64_t block = groups.length * groups.inner;
                for (int64_t outer = 0; outer < groups.outer; ++outer) {
                  for (int64_t i = 0; i < groups.inner; ++i) {
                    for (int64_t at = i; at < block; at += groups.inner) {
                      if (from[at] != largest[i]) continue;
                      to[at] = gradient[i];
                      break;
                    }
                  }
                  from += block;
                  to += block;
                  largest += groups.inner;
                  gradient += groups.inner;
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans MaxoutPlans() {
  return {{"maxout", PlanMaxout, AlwaysRoundsOnce}, {"maxout_grad", PlanGradient}};
}

}  // namespace fixpoint::executor
