// An image as the OCR networks were trained to see it: rows of pixels, blue first, as OpenCV reads
// files.

#ifndef FIXPOINT_EXAMPLES_OCR_IMAGE_H_
#define FIXPOINT_EXAMPLES_OCR_IMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fixpoint {
namespace ocr {

inline constexpr int64_t kColors = 3;

// [height,width,3]: blue, green and red of 0 to 255.
struct Image {
  Image() = default;
  Image(int64_t rows, int64_t columns)
      : height(rows), width(columns), values(static_cast<size_t>(rows * columns * kColors)) {}

  // The colors of a pixel. REQUIRES: it is in the image.
  uint8_t* At(int64_t y, int64_t x) { return values.data() + (y * width + x) * kColors; }
  const uint8_t* At(int64_t y, int64_t x) const {
    return values.data() + (y * width + x) * kColors;
  }

  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> values;
};

// A PNG or a JPEG. Errors: those of ReadInputFile (proto/file/input_file.h) and DecodeImage
// (runtime/data/pixels.h), with the path.
absl::StatusOr<Image> ReadImage(const std::string& path);
// Error (kUnavailable): the file cannot be written.
absl::Status WritePng(const Image& image, const std::string& path);

// The image turned by 90 degrees, its right side up; by 180 degrees.
Image QuarterTurned(const Image& image);
Image HalfTurned(const Image& image);

// In another size as OpenCV's bilinear interpolation for bytes makes it, in its fixed-point
// arithmetic: a pixel is weighted from the four around its place by 11-bit factors, and nothing is
// smoothed. REQUIRES: all sizes are 1 or more.
Image Resized(const Image& image, int64_t height, int64_t width);

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_IMAGE_H_
