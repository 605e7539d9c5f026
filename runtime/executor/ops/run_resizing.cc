#include "runtime/executor/ops/run_resizing.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ops/dims.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/placed_elements.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/kernels/axis_taps.h"
#include "runtime/kernels/lines.h"
#include "runtime/kernels/placed_copy.h"

namespace fixpoint::executor {
namespace {

using kernels::AxisTaps;
using kernels::PlacedCopy;
using kernels::Places;

// What a step resizes, and where it puts what.
struct Images {
  ResizeMethod method;
  int first_axis;  // of the spatial ones
  Buffer x;
  Buffer out;
  std::vector<Buffer> between;  // the result on each axis but the last one
};

int64_t SizeOf(const Dims& dims) { return *ElementCount(dims); }

// Elements are moved by their size.
absl::Status CopyNearest(const StepContext& run, const Images& images, VarType::Type dtype,
                         const std::vector<ResizedAxis>& axes, const Dims& from, const Dims& to) {
  std::vector<Places> places(from.size());
  for (size_t i = 0; i < axes.size() && !KeepsSizes(axes); ++i) {
    ASSIGN_OR_RETURN(places[images.first_axis + i], NearestPlaces(images.method, axes[i]));
  }
  if (SizeOf(from) == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<PlacedCopy> copy, PlacedCopy::Plan(from, places));
  return WithElementOfSizeOf(dtype, [&](auto element) {
    using T = decltype(element);
    copy->Run<T>(run.Of<T>(images.x).first(SizeOf(from)), T(),
                 run.Of<T>(images.out).first(SizeOf(to)));
    return absl::OkStatus();
  });
}

absl::Status SumAxes(const StepContext& run, const Images& images,
                     const std::vector<ResizedAxis>& axes, Dims dims) {
  absl::Span<float> from = run.Floats(images.x).first(SizeOf(dims));
  if (KeepsSizes(axes)) {
    std::copy(from.begin(), from.end(), run.Floats(images.out).begin());
    return absl::OkStatus();
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ASSIGN_OR_RETURN(const AxisTaps taps, TapsOf(images.method, axes[i]));
    const size_t axis = images.first_axis + i;
    const Dims before(dims.begin(), dims.begin() + static_cast<int64_t>(axis));
    const Dims after(dims.begin() + static_cast<int64_t>(axis) + 1, dims.end());
    const kernels::Lines lines = {SizeOf(before), dims[axis], SizeOf(after)};
    dims[axis] = axes[i].to;
    const Buffer to = i < images.between.size() ? images.between[i] : images.out;
    const absl::Span<float> sums = run.Floats(to).first(SizeOf(dims));
    kernels::SumTaps(taps, lines, from, sums);
    from = sums;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddRunResize(OpPlanner& op, const ResizeMethod& method, const ResizeSizes& sizes) {
  const TensorType type = op.InputType("X");
  const bool is_nearest = method.kind == ResizeMethod::Kind::kNearest;
  Images images;
  images.method = method;
  images.first_axis = IsChannelsLast(op.attributes().String("data_layout")) ? 1 : 2;
  ASSIGN_OR_RETURN(const Dims most, sizes.Most(op));
  TensorType largest = type;
  for (size_t i = 0; i < most.size(); ++i) {
    RETURN_IF_ERROR(CheckPlanned(most[i]));
    largest.dims[images.first_axis + i] = most[i];
    RETURN_IF_ERROR(ElementCount(largest.dims).status());
    if (is_nearest || i + 1 == most.size()) continue;
    images.between.push_back(op.Scratch("sums", VarType::FP32, largest.size()));
  }
  const ReadShape x_shape = ReadShape::Of(op, "X");
  ASSIGN_OR_RETURN(images.x, op.Read("X", is_nearest ? type.dtype : VarType::FP32));
  images.out = op.WriteAs("Out", largest);
  const RunShape shape = op.DecideExtents("Out", x_shape.most_offsets());
  std::vector<Buffer> reads = sizes.buffers();
  reads.push_back(images.x);
  for (const Buffer buffer : x_shape.buffers()) reads.push_back(buffer);
  std::vector<Buffer> writes = images.between;
  writes.push_back(images.out);
  for (const Buffer buffer : shape.buffers()) writes.push_back(buffer);
  return WithElementOfSizeOf(type.dtype, [&](auto element) {
    using T = decltype(element);
    op.AddStep({std::move(reads), std::move(writes), [=](const StepContext& run) {
                  ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, sizes.In(run, most));
                  const Dims from = x_shape.DimsIn(run);
                  Dims to = from;
                  for (size_t i = 0; i < axes.size(); ++i) {
                    to[images.first_axis + i] = axes[i].to;
                  }
                  RETURN_IF_ERROR(is_nearest ? CopyNearest(run, images, type.dtype, axes, from, to)
                                             : SumAxes(run, images, axes, from));
                  DecideLod(run, shape, x_shape.LodIn(run));
                  DecideRows(run, shape, to, run.Of<T>(images.out));
                  return absl::OkStatus();
                }});
    return absl::OkStatus();
  });
}

}  // namespace fixpoint::executor
