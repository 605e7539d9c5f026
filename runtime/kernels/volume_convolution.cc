#include "runtime/kernels/volume_convolution.h"

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

constexpr auto kFloat = memory::data_type::f32;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

Dims InMemory(int64_t batch, int64_t channels, const Dims& sizes, bool channels_last) {
  Dims dims = sizes;
  dims.insert(channels_last ? dims.end() : dims.begin(), channels);
  dims.insert(dims.begin(), batch);
  return dims;
}

memory::desc VolumesDesc(int64_t batch, int64_t channels, const Dims& sizes, bool channels_last) {
  return {{batch, channels, sizes[0], sizes[1], sizes[2]},
          kFloat,
          channels_last ? memory::format_tag::ndhwc : memory::format_tag::ncdhw};
}

// What the three descs of a convolution are made of.
struct Descs {
  explicit Descs(const VolumeShape& shape)
      : x(VolumesDesc(shape.batch, shape.channels, shape.sizes, shape.channels_last)),
        y(VolumesDesc(shape.batch, shape.filters, shape.out_sizes, shape.channels_last)) {
    Dims dims = {shape.filters / shape.groups, shape.channels / shape.groups};
    if (shape.groups > 1) dims.insert(dims.begin(), shape.groups);
    for (const WindowAxis& axis : shape.window) {
      dims.push_back(axis.kernel);
      strides.push_back(axis.stride);
      gaps.push_back(axis.dilation - 1);
      before.push_back(axis.pad_before);
      after.push_back(axis.pad_after);
    }
    filters = RowMajor(dims, kFloat);
    packed = AnyLayout(dims, kFloat);
  }

  dnnl::convolution_forward::primitive_desc Forward() const {
    return {Engine(),    dnnl::prop_kind::forward_training,
            kDirect,     x,
            packed,      y,
            strides,     gaps,
            before,      after,
            Attributes()};
  }
  dnnl::convolution_backward_data::primitive_desc BackwardVolumes() const {
    return {Engine(), kDirect, x, packed, y, strides, gaps, before, after, Forward(), Attributes()};
  }
  dnnl::convolution_backward_weights::primitive_desc BackwardFilters() const {
    return {Engine(), kDirect, x, packed, y, strides, gaps, before, after, Forward(), Attributes()};
  }

  memory::desc x;
  memory::desc y;
  memory::desc filters;
  memory::desc packed;  // as the primitive wants them
  memory::dims strides;
  memory::dims gaps;
  memory::dims before;
  memory::dims after;
};

// A result that is made of volumes and filters.
class OfFilters final : public VolumeConvolution {
 public:
  template <typename Desc>
  OfFilters(const Descs& descs, const Desc& desc, const memory::desc& volumes, int volumes_name,
            const memory::desc& result, int result_name)
      : filters_(Operand::Elsewhere(descs.filters)),
        packed_(Operand::Own(desc.weights_desc())),
        volumes_(Operand::Elsewhere(volumes)),
        result_(Operand::Elsewhere(result)),
        pack_(Reordering(filters_, packed_)),
        convolve_(desc,
                  {{volumes_name, volumes_}, {DNNL_ARG_WEIGHTS, packed_}, {result_name, result_}}),
        implementation_(desc.impl_info_str()) {}

  void Run(absl::Span<const float> first, absl::Span<const float> second,
           absl::Span<float> result) override {
    volumes_.PointTo(first);
    filters_.PointTo(second);
    result_.PointTo(result);
    pack_.Run();
    convolve_.Run();
  }

  std::string implementation() const override { return implementation_; }

 private:
  Operand filters_;
  Operand packed_;
  Operand volumes_;
  Operand result_;
  Execution pack_;
  Execution convolve_;
  const std::string implementation_;
};

class GradientOfFilters final : public VolumeConvolution {
 public:
  explicit GradientOfFilters(const Descs& descs)
      : desc_(descs.BackwardFilters()),
        x_(Operand::Elsewhere(descs.x)),
        dy_(Operand::Elsewhere(descs.y)),
        packed_(Operand::Own(desc_.diff_weights_desc())),
        dfilters_(Operand::Elsewhere(descs.filters)),
        convolve_(desc_,
                  {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DIFF_DST, dy_}, {DNNL_ARG_DIFF_WEIGHTS, packed_}}),
        unpack_(Reordering(packed_, dfilters_)) {}

  void Run(absl::Span<const float> first, absl::Span<const float> second,
           absl::Span<float> result) override {
    x_.PointTo(first);
    dy_.PointTo(second);
    dfilters_.PointTo(result);
    convolve_.Run();
    unpack_.Run();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  dnnl::convolution_backward_weights::primitive_desc desc_;
  Operand x_;
  Operand dy_;
  Operand packed_;
  Operand dfilters_;
  Execution convolve_;
  Execution unpack_;
};

}  // namespace

Dims VolumeShape::x_dims() const { return InMemory(batch, channels, sizes, channels_last); }

Dims VolumeShape::y_dims() const { return InMemory(batch, filters, out_sizes, channels_last); }

int64_t VolumeShape::taps() const {
  int64_t taps = channels / groups;
  for (const WindowAxis& axis : window) taps *= axis.kernel;
  return taps;
}

absl::Status CompleteShape(VolumeShape* shape) {
  Dims filters = {shape->filters, shape->channels};
  for (const WindowAxis& axis : shape->window) {
    RETURN_IF_ERROR(CheckWindow({axis, WindowAxis()}));
    filters.push_back(axis.kernel);
  }
  RETURN_IF_ERROR(CheckExtents("volumes", shape->x_dims()));
  RETURN_IF_ERROR(CheckExtents("groups", {shape->groups}));
  RETURN_IF_ERROR(CheckExtents("filters", filters));
  if (shape->channels % shape->groups != 0 || shape->filters % shape->groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(shape->groups, " groups of ", shape->channels,
                                                   " channels and ", shape->filters,
                                                   " filters; want a divisor of both"));
  }
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(shape->out_sizes[i], WindowCount(shape->sizes[i], shape->window[i]));
  }
  return CheckExtents("the output", shape->y_dims());
}

absl::StatusOr<std::unique_ptr<VolumeConvolution>> VolumeConvolution::Plan(VolumeShape shape,
                                                                           VolumeResult result) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  return Planned("a convolution of volumes", [&]() -> std::unique_ptr<VolumeConvolution> {
    const Descs descs(shape);
    switch (result) {
      case VolumeResult::kOutput:
        return std::make_unique<OfFilters>(descs, descs.Forward(), descs.x, DNNL_ARG_SRC, descs.y,
                                           DNNL_ARG_DST);
      case VolumeResult::kVolumes:
        return std::make_unique<OfFilters>(descs, descs.BackwardVolumes(), descs.y,
                                           DNNL_ARG_DIFF_DST, descs.x, DNNL_ARG_DIFF_SRC);
      case VolumeResult::kFilters:
        return std::make_unique<GradientOfFilters>(descs);
    }
    return nullptr;
  });
}

}  // namespace fixpoint::kernels
