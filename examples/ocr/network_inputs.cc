#include "examples/ocr/network_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "proto/base/status_macros.h"

namespace fixpoint {
namespace ocr {
namespace {

constexpr int64_t kStride = 32;
// Images whose height and width are less together are padded to a stride's.
constexpr int64_t kSmallSides = 64;

// In the order of the channels, as PP-OCR has them, though these are those of red, green and blue.
constexpr std::array<float, kColors> kMean = {0.485f, 0.456f, 0.406f};
constexpr std::array<float, kColors> kDeviation = {0.229f, 0.224f, 0.225f};

int64_t RoundedSide(int64_t side, double ratio) {
  const auto scaled = static_cast<double>(static_cast<int64_t>(static_cast<double>(side) * ratio));
  return std::max(static_cast<int64_t>(std::nearbyint(scaled / kStride)) * kStride, kStride);
}

Image Padded(const Image& image) {
  Image padded(std::max(image.height, kStride), std::max(image.width, kStride));
  for (int64_t y = 0; y < image.height; ++y) {
    std::copy_n(image.At(y, 0), image.width * kColors, padded.At(y, 0));
  }
  return padded;
}

}  // namespace

absl::StatusOr<Tensor> DetectionInput(const Image& image, int64_t longest_side) {
  if (image.height + image.width < kSmallSides) return DetectionInput(Padded(image), longest_side);
  const int64_t longer = std::max(image.height, image.width);
  const double ratio =
      longer > longest_side ? static_cast<double>(longest_side) / static_cast<double>(longer) : 1.0;
  const Image resized =
      Resized(image, RoundedSide(image.height, ratio), RoundedSide(image.width, ratio));
  ASSIGN_OR_RETURN(Tensor input,
                   Tensor::Allocate(VarType::FP32, {1, kColors, resized.height, resized.width}));
  const absl::Span<float> values = input.mutable_data<float>();
  const auto pixels = static_cast<size_t>(resized.height * resized.width);
  for (size_t color = 0; color < kColors; ++color) {
    for (size_t i = 0; i < pixels; ++i) {
      const float value = static_cast<float>(resized.values[i * kColors + color]) * (1.0f / 255);
      values[color * pixels + i] = (value - kMean[color]) / kDeviation[color];
    }
  }
  return input;
}

int64_t WidthInInput(const Image& line, int64_t height, int64_t width) {
  const double ratio = static_cast<double>(line.width) / static_cast<double>(line.height);
  return std::min(width, static_cast<int64_t>(std::ceil(static_cast<double>(height) * ratio)));
}

absl::StatusOr<Tensor> LinesInput(absl::Span<const Image* const> lines, int64_t height,
                                  int64_t width) {
  const auto size = static_cast<int64_t>(lines.size());
  ASSIGN_OR_RETURN(Tensor input, Tensor::Allocate(VarType::FP32, {size, kColors, height, width}));
  const absl::Span<float> values = input.mutable_data<float>();
  std::fill(values.begin(), values.end(), 0.0f);
  float* at = values.data();
  for (const Image* line : lines) {
    const Image resized = Resized(*line, height, WidthInInput(*line, height, width));
    for (int64_t color = 0; color < kColors; ++color) {
      for (int64_t y = 0; y < height; ++y, at += width) {
        for (int64_t x = 0; x < resized.width; ++x) {
          at[x] = (static_cast<float>(resized.At(y, x)[color]) / 255 - 0.5f) / 0.5f;
        }
      }
    }
  }
  return input;
}

}  // namespace ocr
}  // namespace fixpoint
