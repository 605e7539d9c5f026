#include <png.h>
#include <turbojpeg.h>

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/data/pixels.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kJpegMagic("\xFF\xD8\xFF", 3);
constexpr absl::string_view kPngMagic("\x89PNG\r\n\x1A\n", 8);

// A small file can say that it is large.
constexpr int64_t kMostBytes = int64_t{256} << 20;

absl::StatusOr<Pixels> Allocated(int64_t height, int64_t width) {
  if (height > kMostBytes || width > kMostBytes || 3 * height * width > kMostBytes) {
    return absl::UnimplementedError(
        absl::StrCat("the image is ", width, " x ", height, "; at most 256 MiB are read"));
  }
  Pixels pixels;
  pixels.height = height;
  pixels.width = width;
  pixels.values.resize(static_cast<size_t>(3 * height * width));
  return pixels;
}

struct DestroyDecoder {
  void operator()(void* decoder) const { tjDestroy(decoder); }
};

absl::StatusOr<Pixels> DecodeJpeg(absl::string_view bytes) {
  const std::unique_ptr<void, DestroyDecoder> decoder(tjInitDecompress());
  if (decoder == nullptr) return absl::FailedPreconditionError("there is no memory for an image");
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto damaged = [&decoder] {
    return absl::DataLossError(
        absl::StrCat("the JPEG is damaged: ", tjGetErrorStr2(decoder.get())));
  };
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int color_space = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling,
                          &color_space) != 0) {
    return damaged();
  }
  ASSIGN_OR_RETURN(Pixels pixels, Allocated(height, width));
  // A warning, as for a file that is cut off, is an error here.
  if (tjDecompress2(decoder.get(), data, bytes.size(), pixels.values.data(), width, 0, height,
                    TJPF_RGB, TJFLAG_ACCURATEDCT) != 0) {
    return damaged();
  }
  return pixels;
}

absl::StatusOr<Pixels> DecodePng(absl::string_view bytes) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  const auto damaged = [&image] {
    const absl::Status error =
        absl::DataLossError(absl::StrCat("the PNG is damaged: ", image.message));
    png_image_free(&image);
    return error;
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) return damaged();
  absl::StatusOr<Pixels> pixels = Allocated(image.height, image.width);
  if (!pixels.ok()) {
    png_image_free(&image);
    return pixels;
  }
  image.format = PNG_FORMAT_RGB;
  const png_color black = {0, 0, 0};
  if (png_image_finish_read(&image, &black, pixels->values.data(), 0, nullptr) == 0) {
    return damaged();
  }
  return pixels;
}

}  // namespace

absl::StatusOr<Pixels> DecodeImage(absl::string_view bytes) {
  if (absl::StartsWith(bytes, kJpegMagic)) return DecodeJpeg(bytes);
  if (absl::StartsWith(bytes, kPngMagic)) return DecodePng(bytes);
  return absl::InvalidArgumentError("it is neither a JPEG nor a PNG");
}

}  // namespace fixpoint
