#include "examples/ocr/image.h"

#include <png.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/input_file.h"
#include "runtime/data/pixels.h"

namespace fixpoint {
namespace ocr {
namespace {

constexpr size_t kMostFileBytes = size_t{256} << 20;

}  // namespace

absl::StatusOr<Image> ReadImage(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadInputFile(path, kMostFileBytes));
  absl::StatusOr<Pixels> pixels = DecodeImage(bytes);
  if (!pixels.ok()) {
    return absl::Status(pixels.status().code(),
                        absl::StrCat(path, ": ", std::string(pixels.status().message())));
  }
  Image image;
  image.height = pixels->height;
  image.width = pixels->width;
  image.values = std::move(pixels->values);
  for (size_t i = 0; i + 2 < image.values.size(); i += kColors) {
    std::swap(image.values[i], image.values[i + 2]);
  }
  return image;
}

absl::Status WritePng(const Image& image, const std::string& path) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_BGR;
  png_alloc_size_t size = 0;
  std::string bytes;
  bool is_written =
      png_image_write_to_memory(&png, nullptr, &size, 0, image.values.data(), 0, nullptr) != 0;
  if (is_written) {
    bytes.resize(size);
    is_written = png_image_write_to_memory(&png, bytes.data(), &size, 0, image.values.data(), 0,
                                           nullptr) != 0;
    bytes.resize(size);
  }
  if (!is_written) return CannotBeWritten(path, png.message);
  return WriteFileAtomically(path, bytes);
}

Image QuarterTurned(const Image& image) {
  Image turned(image.width, image.height);
  for (int64_t y = 0; y < turned.height; ++y) {
    for (int64_t x = 0; x < turned.width; ++x) {
      std::copy_n(image.At(x, image.width - 1 - y), kColors, turned.At(y, x));
    }
  }
  return turned;
}

Image HalfTurned(const Image& image) {
  Image turned(image.height, image.width);
  for (int64_t y = 0; y < turned.height; ++y) {
    for (int64_t x = 0; x < turned.width; ++x) {
      std::copy_n(image.At(image.height - 1 - y, image.width - 1 - x), kColors, turned.At(y, x));
    }
  }
  return turned;
}

}  // namespace ocr
}  // namespace fixpoint
