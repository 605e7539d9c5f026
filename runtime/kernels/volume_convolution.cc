#include "runtime/kernels/volume_convolution.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "proto/base/status_macros.h"
#include "runtime/kernels/arithmetic.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/threads.h"

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

// In parts of the batch, each on one thread, which are added up in their order: so any number of
// threads gives the same bits.
class GradientOfFilters final : public VolumeConvolution {
 public:
  explicit GradientOfFilters(const VolumeShape& shape)
      : parts_(PartsOf(shape)),
        dfilters_(Operand::Elsewhere(Descs(shape).filters)),
        unpack_(Reordering(parts_.front().packed, dfilters_)) {}

  void Run(absl::Span<const float> first, absl::Span<const float> second,
           absl::Span<float> result) override {
    RunAlone(static_cast<int64_t>(parts_.size()), [&](int64_t i) {
      Part& part = parts_[i];
      part.x.PointTo(first.subspan(part.x_begin, part.x.size<float>()));
      part.dy.PointTo(second.subspan(part.dy_begin, part.dy.size<float>()));
      part.convolve.Run();
    });
    if (parts_.size() > 1) {
      std::vector<absl::Span<const float>> terms;
      for (const Part& part : parts_) terms.push_back(part.Packed());
      AddAll(terms, parts_.front().Packed());
    }
    dfilters_.PointTo(result);
    unpack_.Run();
  }

  std::string implementation() const override { return parts_.front().implementation; }

 private:
  struct Part {
    absl::Span<float> Packed() const { return {packed.data<float>(), packed.size<float>()}; }

    Operand x;
    Operand dy;
    Operand packed;
    int64_t x_begin;
    int64_t dy_begin;
    Execution convolve;
    std::string implementation;
  };

  // [first, last) of the batch.
  static Part PartOf(VolumeShape shape, int64_t first, int64_t last) {
    shape.batch = last - first;
    const Descs descs(shape);
    const dnnl::convolution_backward_weights::primitive_desc desc = descs.BackwardFilters();
    const Operand x = Operand::Elsewhere(descs.x);
    const Operand dy = Operand::Elsewhere(descs.y);
    const Operand packed = Operand::Own(desc.diff_weights_desc());
    const auto begin_in = [&](const Operand& operand) {
      return first * static_cast<int64_t>(operand.size<float>()) / shape.batch;
    };
    return {
        x,
        dy,
        packed,
        begin_in(x),
        begin_in(dy),
        Execution(desc,
                  {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_WEIGHTS, packed}}),
        desc.impl_info_str()};
  }

  // As many as give gradients of one layout.
  static std::vector<Part> PartsOf(const VolumeShape& shape) {
    const ThreadsInUse one(1);
    const auto output = static_cast<int64_t>(Descs(shape).y.get_size() / sizeof(float));
    const int64_t most = output * shape.taps() / kProductsOfPart;
    int64_t count = std::max<int64_t>(std::min({shape.batch, kMostParts, most}), 1);
    while (true) {
      std::vector<Part> parts;
      for (int64_t i = 0; i < count; ++i) {
        parts.push_back(PartOf(shape, shape.batch * i / count, shape.batch * (i + 1) / count));
      }
      const auto has_layout = [&](const Part& part) {
        return part.packed.memory().get_desc() == parts.front().packed.memory().get_desc();
      };
      if (std::all_of(parts.begin(), parts.end(), has_layout)) return parts;
      --count;
    }
  }

  std::vector<Part> parts_;
  Operand dfilters_;
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
        return std::make_unique<GradientOfFilters>(shape);
    }
    return nullptr;
  });
}

}  // namespace fixpoint::kernels
