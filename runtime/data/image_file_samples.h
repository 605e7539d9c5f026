// Images in files, JPEG or PNG, as samples with the fields of ImageSamples. They are decoded when
// they are read, so that a set may be larger than memory; those that will be read next, on a thread
// of their own meanwhile.

#ifndef FIXPOINT_RUNTIME_DATA_IMAGE_FILE_SAMPLES_H_
#define FIXPOINT_RUNTIME_DATA_IMAGE_FILE_SAMPLES_H_

#include <array>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/config/image_data.pb.h"
#include "runtime/data/image_list.h"
#include "runtime/data/pixels.h"
#include "runtime/data/sample_set.h"
#include "runtime/tensor.h"

namespace fixpoint {

class ImageFileSamples final : public SampleSet {
 public:
  // The images that `data` names, prepared as it says; relative to `folder`. All have to have one
  // size then, which is that of the first image unless `data` gives it. Errors: those of
  // ListImages, and those of the first image; kInvalidArgument for sizes under 1, a scale, mean or
  // std that is not finite, a std of 0, and as many of them as there are no channels.
  static absl::StatusOr<ImageFileSamples> Open(const ImageData& data, const std::string& folder);

  int64_t size() const override { return static_cast<int64_t>(images_.size()); }
  absl::Span<const SampleField> fields() const override { return fields_; }
  // How many images were left out because they are bad, and what is wrong with the first of them.
  std::string Note() const override { return note_; }
  // The path of the image.
  std::string NameOf(int64_t sample) const override;
  // Errors, with the path: those of reading a file, DecodeImage and Cropped; kInvalidArgument for
  // an image of another size.
  absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> samples,
                                           absl::Span<const FieldForm> forms) const override;
  void WillRead(absl::Span<const int64_t> samples) const override;
  // Of the preparation, and of each image's name below `folder`, size of the file and label; not
  // of the pixels, which take as long to read as an epoch.
  absl::StatusOr<uint64_t> Checksum() const override;

 private:
  ImageFileSamples(ImageData data, std::string folder, std::vector<ListedImage> images)
      : data_(std::move(data)), folder_(std::move(folder)), images_(std::move(images)) {}

  // Images, or why they are none, that a thread decodes.
  using Decoded = std::vector<absl::StatusOr<Pixels>>;
  struct Ahead {
    std::vector<int64_t> samples;
    std::future<Decoded> images;
  };

  // Gives the ones before, for which a reader waits without holding up others.
  std::optional<Ahead> ReplaceAhead(std::optional<Ahead> ahead) const;

  // Leaves out images that cannot be decoded. Error: that of the first one, if none is left.
  absl::Status LeaveOutBad();
  // What a pixel of each value becomes in each channel of a sample.
  absl::Status SetValues();
  // The images of samples: those that were decoded ahead, or decoded now.
  Decoded Decode(absl::Span<const int64_t> samples) const;
  std::vector<std::string> PathsOf(absl::Span<const int64_t> samples) const;
  absl::Status Normalize(int64_t sample, const Pixels& pixels, absl::Span<float> out) const;

  int64_t channels() const { return static_cast<int64_t>(values_.size()); }

  ImageData data_;
  std::string folder_;
  std::vector<ListedImage> images_;
  std::string note_;
  std::vector<std::array<float, 256>> values_;  // by channel of a sample, and pixel
  std::array<SampleField, 2> fields_;
  mutable std::unique_ptr<std::mutex> ahead_mutex_ = std::make_unique<std::mutex>();
  mutable std::optional<Ahead> ahead_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_IMAGE_FILE_SAMPLES_H_
