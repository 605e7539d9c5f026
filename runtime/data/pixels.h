// Images as they are decoded, and what is done with them before they are samples.

#ifndef FIXPOINT_RUNTIME_DATA_PIXELS_H_
#define FIXPOINT_RUNTIME_DATA_PIXELS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fixpoint {

// [height,width,3]: red, green and blue of 0 to 255.
struct Pixels {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> values;
};

// The pixels of a JPEG (baseline or progressive; not CMYK) or a PNG (what is transparent becomes
// black; 16 bits become 8). What a JPEG says of its orientation is ignored. Errors: kDataLoss for
// an image that is damaged or cut off; kInvalidArgument for other bytes; kUnimplemented for one of
// more than 256 MiB.
absl::StatusOr<Pixels> DecodeImage(absl::string_view bytes);

// The image in another size, as Pillow's bilinear filter makes it: each pixel is the mean of those
// around it, weighted by a triangle that is as wide as two pixels of the smaller of both sizes.
// Rows first, each direction rounded to integers. REQUIRES: all sizes are 1 or more.
Pixels Resized(const Pixels& image, int64_t height, int64_t width);

// The middle of the image. kInvalidArgument: the image is smaller.
absl::StatusOr<Pixels> Cropped(const Pixels& image, int64_t height, int64_t width);

// The brightness of a color (ITU-R BT.601), of 0 to 255.
uint8_t Gray(uint8_t red, uint8_t green, uint8_t blue);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_DATA_PIXELS_H_
