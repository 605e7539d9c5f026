#include "runtime/data/image_file_samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "proto/wire/program.pb.h"
#include "runtime/checksum.h"
#include "runtime/data/image_samples.h"
#include "runtime/error_place.h"
#include "runtime/guarded_call.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFileBytes = size_t{1} << 30;

absl::Status CheckSize(absl::string_view what, int64_t size) {
  constexpr int64_t kMost = 1 << 16;
  if (size >= 1 && size <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", size, "; want 1 to ", kMost, " pixels"));
}

absl::Status CheckSizes(const ImageData& data) {
  if (data.has_resize() && data.has_resize_shorter()) {
    return absl::InvalidArgumentError("resize and resize_shorter both give a size; want one");
  }
  if (data.has_resize_shorter()) {
    RETURN_IF_ERROR(CheckSize("resize_shorter", data.resize_shorter()));
  }
  if (data.has_resize()) {
    RETURN_IF_ERROR(CheckSize("the height of resize", data.resize().height()));
    RETURN_IF_ERROR(CheckSize("the width of resize", data.resize().width()));
  }
  if (data.has_crop()) {
    RETURN_IF_ERROR(CheckSize("the height of crop", data.crop().height()));
    RETURN_IF_ERROR(CheckSize("the width of crop", data.crop().width()));
  }
  return absl::OkStatus();
}

// The value of one channel of a pixel, which is `pixel[0]` to `pixel[2]`.
uint8_t ChannelOf(const uint8_t* pixel, size_t channel, ImageData::Channels order) {
  if (order == ImageData::GRAY) return Gray(pixel[0], pixel[1], pixel[2]);
  return pixel[order == ImageData::BGR ? 2 - channel : channel];
}

// Decodes, resizes and cuts out.
absl::StatusOr<Pixels> Load(const ImageData& data, const std::string& path) {
  const auto load = [&]() -> absl::StatusOr<Pixels> {
    ASSIGN_OR_RETURN(const std::string bytes, ReadInputFile(path, kMostFileBytes));
    absl::StatusOr<Pixels> pixels = DecodeImage(bytes);
    if (pixels.ok() && data.has_resize()) {
      pixels = Resized(*pixels, data.resize().height(), data.resize().width());
    } else if (pixels.ok() && data.has_resize_shorter()) {
      const int64_t shorter = std::min(pixels->height, pixels->width);
      const int64_t wanted = data.resize_shorter();
      pixels =
          Resized(*pixels, pixels->height * wanted / shorter, pixels->width * wanted / shorter);
    }
    if (pixels.ok() && data.has_crop()) {
      pixels = Cropped(*pixels, data.crop().height(), data.crop().width());
    }
    if (!pixels.ok()) return Prefixed(absl::StrCat(path, ": "), pixels.status());
    return pixels;
  };
  return GuardedCall(path, load);
}

std::vector<absl::StatusOr<Pixels>> LoadAll(const ImageData& data,
                                            const std::vector<std::string>& paths) {
  std::vector<absl::StatusOr<Pixels>> images;
  for (const std::string& path : paths) images.push_back(Load(data, path));
  return images;
}

}  // namespace

absl::StatusOr<ImageFileSamples> ImageFileSamples::Open(const ImageData& data,
                                                        const std::string& folder) {
  RETURN_IF_ERROR(CheckSizes(data));
  ASSIGN_OR_RETURN(std::vector<ListedImage> images,
                   ListImages((fs::path(folder) / data.images()).string()));
  ImageFileSamples samples(data, folder, std::move(images));
  RETURN_IF_ERROR(samples.SetValues());
  if (data.skip_bad()) RETURN_IF_ERROR(samples.LeaveOutBad());
  ASSIGN_OR_RETURN(const Pixels first, Load(data, samples.images_[0].path));
  samples.fields_ = {
      {{ImageSamples::kImagesField, VarType::FP32, {samples.channels(), first.height, first.width}},
       {ImageSamples::kLabelsField, VarType::INT64, {1}}}};
  return samples;
}

absl::Status ImageFileSamples::LeaveOutBad() {
  absl::Status first;
  const auto is_bad = [&](const ListedImage& image) {
    const absl::Status status = Load(data_, image.path).status();
    first.Update(status);
    return !status.ok();
  };
  const size_t count = images_.size();
  images_.erase(std::remove_if(images_.begin(), images_.end(), is_bad), images_.end());
  if (images_.empty()) return first;
  if (images_.size() < count) {
    note_ = absl::StrCat("left out ", count - images_.size(), " of ", count,
                         " images, the first because of this: ", first.message());
  }
  return absl::OkStatus();
}

absl::Status ImageFileSamples::SetValues() {
  values_.resize(data_.channels() == ImageData::GRAY ? 1 : 3);
  const auto is_wrong = [this](const auto& numbers) {
    return numbers.size() != 0 && numbers.size() != channels();
  };
  if (is_wrong(data_.mean()) || is_wrong(data_.std())) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", data_.mean_size(), " of mean and ",
                                                   data_.std_size(), " of std; want none, or ",
                                                   channels(), ", one for each channel"));
  }
  for (size_t channel = 0; channel < values_.size(); ++channel) {
    const int index = static_cast<int>(channel);
    const float mean = data_.mean_size() == 0 ? 0 : data_.mean(index);
    const float deviation = data_.std_size() == 0 ? 1 : data_.std(index);
    for (size_t pixel = 0; pixel < values_[channel].size(); ++pixel) {
      float& value = values_[channel][pixel];
      value = (static_cast<float>(pixel) * data_.scale() - mean) / deviation;
      if (std::isfinite(value)) continue;
      return absl::InvalidArgumentError(absl::StrCat("scale ", data_.scale(), ", mean ", mean,
                                                     " and std ", deviation, " make a pixel of ",
                                                     pixel, " ", value, "; want finite numbers"));
    }
  }
  return absl::OkStatus();
}

std::string ImageFileSamples::NameOf(int64_t sample) const {
  return images_[static_cast<size_t>(sample)].path;
}

std::vector<std::string> ImageFileSamples::PathsOf(absl::Span<const int64_t> samples) const {
  std::vector<std::string> paths;
  for (const int64_t sample : samples) paths.push_back(NameOf(sample));
  return paths;
}

std::optional<ImageFileSamples::Ahead> ImageFileSamples::ReplaceAhead(
    std::optional<Ahead> ahead) const {
  const std::lock_guard<std::mutex> lock(*ahead_mutex_);
  return std::exchange(ahead_, std::move(ahead));
}

void ImageFileSamples::WillRead(absl::Span<const int64_t> samples) const {
  ReplaceAhead(std::nullopt);
  try {
    ReplaceAhead(Ahead{{samples.begin(), samples.end()},
                       std::async(std::launch::async, LoadAll, data_, PathsOf(samples))});
  } catch (const std::system_error&) {
    // Without a thread they are decoded when they are read.
  }
}

ImageFileSamples::Decoded ImageFileSamples::Decode(absl::Span<const int64_t> samples) const {
  std::optional<Ahead> ahead = ReplaceAhead(std::nullopt);
  if (ahead && ahead->samples == samples) return ahead->images.get();
  return LoadAll(data_, PathsOf(samples));
}

absl::Status ImageFileSamples::Normalize(int64_t sample, const Pixels& pixels,
                                         absl::Span<float> out) const {
  const std::vector<int64_t>& dims = fields_[0].dims;
  if (pixels.height != dims[1] || pixels.width != dims[2]) {
    return absl::InvalidArgumentError(absl::StrCat(
        NameOf(sample), ": the image is ", pixels.width, " x ", pixels.height, ", and ",
        images_[0].path, " is ", dims[2], " x ", dims[1], "; want one size: resize or crop"));
  }
  float* value = out.data();
  for (size_t channel = 0; channel < values_.size(); ++channel) {
    for (size_t at = 0; at < pixels.values.size(); at += 3) {
      *value++ = values_[channel][ChannelOf(&pixels.values[at], channel, data_.channels())];
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> ImageFileSamples::Read(
    absl::Span<const int64_t> samples, absl::Span<const FieldForm> forms) const {
  std::vector<Tensor> batch;
  for (const FieldForm& form : forms) {
    const SampleField& field = fields_[form.field];
    std::vector<int64_t> dims = form.dims;
    dims.insert(dims.begin(), static_cast<int64_t>(samples.size()));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(field.dtype, std::move(dims)));
    if (field.name == ImageSamples::kLabelsField) {
      std::transform(samples.begin(), samples.end(), tensor.mutable_data<int64_t>().begin(),
                     [&](int64_t sample) { return images_[static_cast<size_t>(sample)].label; });
    } else {
      absl::Span<float> rest = tensor.mutable_data<float>();
      const size_t image_size = rest.size() / samples.size();
      const Decoded images = Decode(samples);
      for (size_t i = 0; i < images.size(); ++i, rest.remove_prefix(image_size)) {
        RETURN_IF_ERROR(images[i].status());
        RETURN_IF_ERROR(Normalize(samples[i], *images[i], rest.subspan(0, image_size)));
      }
    }
    batch.push_back(std::move(tensor));
  }
  return batch;
}

absl::StatusOr<uint64_t> ImageFileSamples::Checksum() const {
  fixpoint::Checksum checksum;
  const auto add = [&checksum](absl::string_view text) {
    checksum.Add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  add(data_.SerializeAsString());
  for (const ListedImage& image : images_) {
    std::error_code error;
    const uintmax_t bytes = fs::file_size(image.path, error);
    if (error) {
      return absl::NotFoundError(absl::StrCat(image.path, ": cannot be read: ", error.message()));
    }
    const std::string name = fs::path(image.path).lexically_relative(folder_).string();
    add(absl::StrCat(name.empty() ? image.path : name, " ", bytes, " ", image.label, "\n"));
  }
  return checksum.value();
}

}  // namespace fixpoint
