#include "runtime/data/image_samples.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/wire/program.pb.h"
#include "runtime/checksum.h"

namespace fixpoint {
namespace {

std::string Described(const Tensor& tensor) {
  return absl::StrCat(VarType::Type_Name(tensor.dtype()), " ", DimsText(tensor.dims()));
}

absl::Status CheckSet(const ImageSet& set) {
  const Tensor& images = set.images;
  const Tensor& labels = set.labels;
  if (images.dtype() != VarType::UINT8 || images.dims().size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("the images are ", Described(images), "; expected UINT8 [N, C, H, W]"));
  }
  const int64_t count = images.dims()[0];
  if (labels.dtype() != VarType::INT64 || labels.dims() != std::vector<int64_t>{count}) {
    return absl::InvalidArgumentError(absl::StrCat("the labels are ", Described(labels),
                                                   "; expected INT64 [", count,
                                                   "], one for each image"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImageSamples> ImageSamples::Create(ImageSet set, const PixelValues& values) {
  RETURN_IF_ERROR(CheckSet(set));
  if (!std::isfinite(values.scale) || !std::isfinite(values.offset)) {
    return absl::InvalidArgumentError(absl::StrCat("the scale is ", values.scale,
                                                   " and the offset ", values.offset,
                                                   "; expected finite numbers"));
  }
  return ImageSamples(std::move(set), values);
}

ImageSamples::ImageSamples(ImageSet set, const PixelValues& values) : set_(std::move(set)) {
  for (size_t pixel = 0; pixel < values_.size(); ++pixel) {
    values_[pixel] = static_cast<float>(pixel) * values.scale + values.offset;
  }
  const std::vector<int64_t>& dims = set_.images.dims();
  fields_ = {{{kImagesField, VarType::FP32, {dims.begin() + 1, dims.end()}},
              {kLabelsField, VarType::INT64, {1}}}};
}

std::string ImageSamples::NameOf(int64_t sample) const { return absl::StrCat("image ", sample); }

absl::StatusOr<std::vector<Tensor>> ImageSamples::Read(absl::Span<const int64_t> samples,
                                                       absl::Span<const FieldForm> forms) const {
  const absl::Span<const uint8_t> pixels = set_.images.data<uint8_t>();
  const absl::Span<const int64_t> labels = set_.labels.data<int64_t>();
  const size_t image_size = pixels.size() / labels.size();
  std::vector<Tensor> batch;
  for (const FieldForm& form : forms) {
    const SampleField& field = fields_[form.field];
    std::vector<int64_t> dims = form.dims;
    dims.insert(dims.begin(), static_cast<int64_t>(samples.size()));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(field.dtype, std::move(dims)));
    if (field.name == kLabelsField) {
      std::transform(samples.begin(), samples.end(), tensor.mutable_data<int64_t>().begin(),
                     [&](int64_t sample) { return labels[static_cast<size_t>(sample)]; });
    } else {
      auto value = tensor.mutable_data<float>().begin();
      for (const int64_t sample : samples) {
        for (const uint8_t pixel :
             pixels.subspan(static_cast<size_t>(sample) * image_size, image_size)) {
          *value++ = values_[pixel];
        }
      }
    }
    batch.push_back(std::move(tensor));
  }
  return batch;
}

absl::StatusOr<uint64_t> ImageSamples::Checksum() const {
  return ChecksumOf({set_.images.bytes(), set_.labels.bytes()});
}

}  // namespace fixpoint
