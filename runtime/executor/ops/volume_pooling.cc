// Pooling of volumes; and maxima of windows with their places, of images too.

#include "runtime/kernels/volume_pooling.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/kernels/extents.h"

namespace fixpoint::executor {
namespace {

struct Planned {
  std::shared_ptr<kernels::VolumePooling> pooling;
  Dims out;
};

absl::StatusOr<Planned> PoolingOf(const OpPlanner& op, const PoolingAttrs& attrs, int axes,
                                  bool channels_last) {
  const Dims& x = op.InputDims("X");
  if (static_cast<int>(x.size()) != axes + 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), "; want ", axes + 2, " dimensions"));
  }
  RETURN_IF_ERROR(kernels::CheckExtents("X", x));
  const int first = channels_last ? 1 : 2;
  const Dims sizes(x.begin() + first, x.begin() + first + axes);
  Planned planned{nullptr, x};
  ASSIGN_OR_RETURN(const Dims counts, PooledSizes(attrs, sizes));
  std::copy(counts.begin(), counts.end(), planned.out.begin() + first);
  RETURN_IF_ERROR(kernels::CheckExtents("the output", planned.out));
  ASSIGN_OR_RETURN(const auto spans, PooledSpans(attrs, sizes, op.era()));
  planned.pooling = std::make_shared<kernels::VolumePooling>(x[0], channels_last ? x.back() : x[1],
                                                             channels_last, sizes, spans);
  return planned;
}

PoolingAttrs AttrsOf(const OpAttributes& op) {
  PoolingAttrs attrs{op.Ints("ksize"), op.Ints("strides"), op.Ints("paddings")};
  attrs.is_global = op.Bool("global_pooling");
  attrs.is_adaptive = op.Bool("adaptive");
  return attrs;
}

absl::StatusOr<Planned> PoolingOfVolumes(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  PoolingAttrs attrs = AttrsOf(attributes);
  attrs.ceil_mode = attributes.Bool("ceil_mode");
  attrs.padding_algorithm = attributes.String("padding_algorithm");
  return PoolingOf(op, attrs, 3, AreChannelsLast(attributes.String("data_format")));
}

absl::StatusOr<bool> IsMax(const OpPlanner& op) {
  const std::string type = op.attributes().String("pooling_type");
  if (type == "max" || type == "avg") return type == "max";
  return absl::InvalidArgumentError(
      absl::StrCat("pooling_type is \"", type, "\"; want max or avg"));
}

absl::Status PlanPool3d(OpPlanner& op) {
  ASSIGN_OR_RETURN(const bool is_max, IsMax(op));
  ASSIGN_OR_RETURN(const Planned planned, PoolingOfVolumes(op));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteAs("Out", {VarType::FP32, planned.out});
  const bool counts_padding = !op.attributes().Bool("exclusive");
  op.AddStep({{x}, {y}, [=, pooling = planned.pooling](const StepContext& run) {
                if (is_max) {
                  pooling->Maxima(run.Floats(x), run.Floats(y), {});
                } else {
                  pooling->Averages(run.Floats(x), counts_padding, run.Floats(y));
                }
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanPool3dGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const bool is_max, IsMax(op));
  ASSIGN_OR_RETURN(const Planned planned, PoolingOfVolumes(op));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", planned.out));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD"));
  if (!is_max) {
    const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
    const bool counts_padding = !op.attributes().Bool("exclusive");
    op.AddStep({{dy}, {dx}, [=, pooling = planned.pooling](const StepContext& run) {
                  pooling->SpreadAverages(run.Floats(dy), counts_padding, run.Floats(dx));
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(op.CheckDims("Out", planned.out));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Out"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{x, y, dy}, {dx}, [=, pooling = planned.pooling](const StepContext& run) {
                pooling->SpreadToMaxima(run.Floats(x), run.Floats(y), run.Floats(dy),
                                        run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanWithPlaces(OpPlanner& op, int axes) {
  ASSIGN_OR_RETURN(const Planned planned,
                   PoolingOf(op, AttrsOf(op.attributes()), axes, /*channels_last=*/false));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer y = op.WriteAs("Out", {VarType::FP32, planned.out});
  const Buffer places = op.WriteAs("Mask", {VarType::INT32, planned.out});
  op.AddStep({{x}, {y, places}, [=, pooling = planned.pooling](const StepContext& run) {
                pooling->Maxima(run.Floats(x), run.Floats(y), run.Of<int32_t>(places));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanWithPlacesGradient(OpPlanner& op, int axes) {
  ASSIGN_OR_RETURN(const Planned planned,
                   PoolingOf(op, AttrsOf(op.attributes()), axes, /*channels_last=*/false));
  RETURN_IF_ERROR(op.CheckDims("Mask", planned.out));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", planned.out));
  ASSIGN_OR_RETURN(const Buffer places, op.Read("Mask", VarType::INT32));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{places, dy}, {dx}, [=, pooling = planned.pooling](const StepContext& run) {
                const absl::Span<const int32_t> given = run.Of<int32_t>(places);
                for (const int32_t place : given) {
                  if (place >= -1 && place < pooling->places()) continue;
                  return absl::InvalidArgumentError(
                      absl::StrCat("Mask has ", place, "; want -1 to ", pooling->places() - 1));
                }
                pooling->SpreadToPlaces(run.Floats(dy), given, run.Floats(dx));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

// Where the elements of X are in an image.
struct Unpooled {
  Buffer indices;
  int64_t from;  // elements of a channel of X
  int64_t to;    // of the image

  // Calls f(i, place) with each element. Error: its place is outside its channel.
  template <typename F>
  absl::Status ForEachPlace(const StepContext& run, F f) const {
    const absl::Span<const int32_t> places = run.Of<int32_t>(indices);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0 || places[i] >= to) {
        return absl::InvalidArgumentError(
            absl::StrCat("Indices has ", places[i], "; want 0 to ", to - 1));
      }
      f(i, static_cast<int64_t>(i) / from * to + places[i]);
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<Unpooled> UnpooledOf(OpPlanner& op, const Dims& image) {
  const Dims& x = op.InputDims("X");
  if (op.attributes().String("unpooling_type") != "max") {
    return absl::InvalidArgumentError("unpooling_type is not \"max\"; want that");
  }
  RETURN_IF_ERROR(op.CheckDims("Indices", x));
  if (x.size() != 4 || image.size() != 4 || x[0] != image[0] || x[1] != image[1]) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", DimsText(x), " and the image ", DimsText(image),
                     "; want [N,C,H,W] of one batch and as many channels"));
  }
  Unpooled unpooled;
  ASSIGN_OR_RETURN(unpooled.indices, op.Read("Indices", VarType::INT32));
  unpooled.from = x[2] * x[3];
  unpooled.to = image[2] * image[3];
  return unpooled;
}

absl::Status PlanUnpool(OpPlanner& op) {
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const Unpooled unpooled, UnpooledOf(op, type.dims));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  const Buffer out = op.WriteAs("Out", type);
  op.AddStep({{x, unpooled.indices}, {out}, [=](const StepContext& run) {
                const float* const from = run.Floats(x).data();
                float* const to = run.Floats(out).data();
                std::fill_n(to, out.size, 0.0f);
                return unpooled.ForEachPlace(run,
                                             [=](size_t i, int64_t place) { to[place] = from[i]; });
              }});
  return absl::OkStatus();
}

absl::Status PlanUnpoolGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Unpooled unpooled, UnpooledOf(op, op.InputDims("Out@GRAD")));
  RETURN_IF_ERROR(op.CheckDims("Out", op.InputDims("Out@GRAD")));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({{dout, unpooled.indices}, {dx}, [=](const StepContext& run) {
                const float* const from = run.Floats(dout).data();
                float* const to = run.Floats(dx).data();
                return unpooled.ForEachPlace(run,
                                             [=](size_t i, int64_t place) { to[i] = from[place]; });
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans VolumePoolingPlans() {
  OpPlans plans = {{"pool3d", PlanPool3d},
                   {"pool3d_grad", PlanPool3dGradient},
                   {"unpool", PlanUnpool},
                   {"unpool_grad", PlanUnpoolGradient}};
  for (const int axes : {2, 3}) {
    const std::string type = absl::StrCat("max_pool", axes, "d_with_index");
    plans.push_back({type, [axes](OpPlanner& op) { return PlanWithPlaces(op, axes); }});
    plans.push_back(
        {type + "_grad", [axes](OpPlanner& op) { return PlanWithPlacesGradient(op, axes); }});
  }
  return plans;
}

}  // namespace fixpoint::executor
