// Labelled images in memory as samples. Their fields are those below, of which `--images` and
// `--labels` name the variables of a program:
//
//   images  FP32 [C,H,W]
//   labels  INT64 [1], as the reference's cross_entropy takes them

#ifndef FIXPOINT_RUNTIME_DATA_IMAGE_SAMPLES_H_
#define FIXPOINT_RUNTIME_DATA_IMAGE_SAMPLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/data/image_set.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"

namespace fixpoint {

// A pixel of 0 to 255 becomes pixel * scale + offset: by default 0 to 1. The reference's readers do
// so with CIFAR-10, and have MNIST from -1 to 1: scale 2 / 255, offset -1.
struct PixelValues {
  float scale = 1.0F / 255;
  float offset = 0;
};

class ImageSamples final : public SampleSet {
 public:
  static constexpr char kImagesField[] = "images";
  static constexpr char kLabelsField[] = "labels";

  // kInvalidArgument for a set that does not meet ImageSet's requirements, and a scale or an offset
  // that is not finite.
  static absl::StatusOr<ImageSamples> Create(ImageSet set, const PixelValues& values = {});

  int64_t size() const override { return set_.labels.size(); }
  absl::Span<const SampleField> fields() const override { return fields_; }
  std::string NameOf(int64_t sample) const override;
  absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> samples,
                                           absl::Span<const FieldForm> forms) const override;
  absl::StatusOr<uint64_t> Checksum() const override;

 private:
  ImageSamples(ImageSet set, const PixelValues& values);

  ImageSet set_;
  std::array<float, 256> values_;  // by pixel
  std::array<SampleField, 2> fields_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_IMAGE_SAMPLES_H_
