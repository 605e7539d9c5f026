#include "runtime/data/pixels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

constexpr int64_t kChannels = 3;

// What one pixel of a line is made of: the pixels from `first` on, with these weights.
struct Mix {
  int64_t first = 0;
  std::vector<double> weights;
};

std::vector<Mix> Mixes(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);
  std::vector<Mix> mixes(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    Mix& mix = mixes[static_cast<size_t>(i)];
    mix.first = std::max<int64_t>(0, static_cast<int64_t>(center - reach + 0.5));
    const int64_t end = std::min(from, static_cast<int64_t>(center + reach + 0.5));
    double sum = 0;
    for (int64_t pixel = mix.first; pixel < end; ++pixel) {
      const double distance = std::abs(static_cast<double>(pixel) + 0.5 - center) / reach;
      mix.weights.push_back(std::max(0.0, 1 - distance));
      sum += mix.weights.back();
    }
    for (double& weight : mix.weights) weight /= sum;
  }
  return mixes;
}

uint8_t Rounded(double value) {
  return static_cast<uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

// Resizes each of `lines` lines, whose pixels are `step` values apart, to those of `mixes`.
struct Lines {
  int64_t count;      // lines
  int64_t from_line;  // values from one line to the next, before and after
  int64_t to_line;
  int64_t from_step;  // values from one pixel of a line to the next
  int64_t to_step;
};

void ResizeLines(const std::vector<uint8_t>& from, const Lines& lines,
                 const std::vector<Mix>& mixes, std::vector<uint8_t>& to) {
  for (int64_t line = 0; line < lines.count; ++line) {
    for (size_t i = 0; i < mixes.size(); ++i) {
      for (int64_t channel = 0; channel < kChannels; ++channel) {
        int64_t at = line * lines.from_line + mixes[i].first * lines.from_step + channel;
        double sum = 0;
        for (const double weight : mixes[i].weights) {
          sum += weight * from[static_cast<size_t>(at)];
          at += lines.from_step;
        }
        const int64_t place =
            line * lines.to_line + static_cast<int64_t>(i) * lines.to_step + channel;
        to[static_cast<size_t>(place)] = Rounded(sum);
      }
    }
  }
}

}  // namespace

Pixels Resized(const Pixels& image, int64_t height, int64_t width) {
  Pixels wide{image.height, width, {}};
  wide.values.resize(static_cast<size_t>(kChannels * image.height * width));
  ResizeLines(image.values,
              {image.height, kChannels * image.width, kChannels * width, kChannels, kChannels},
              Mixes(image.width, width), wide.values);
  Pixels resized{height, width, {}};
  resized.values.resize(static_cast<size_t>(kChannels * height * width));
  ResizeLines(wide.values, {width, kChannels, kChannels, kChannels * width, kChannels * width},
              Mixes(image.height, height), resized.values);
  return resized;
}

absl::StatusOr<Pixels> Cropped(const Pixels& image, int64_t height, int64_t width) {
  if (image.height < height || image.width < width) {
    return absl::InvalidArgumentError(absl::StrCat("the image is ", image.width, " x ",
                                                   image.height, ", too small to cut out ", width,
                                                   " x ", height, "; want it resized before"));
  }
  const auto top =
      static_cast<int64_t>(std::nearbyint(static_cast<double>(image.height - height) / 2));
  const auto left =
      static_cast<int64_t>(std::nearbyint(static_cast<double>(image.width - width) / 2));
  Pixels cropped{height, width, {}};
  for (int64_t row = top; row < top + height; ++row) {
    const auto begin = image.values.begin() + kChannels * (row * image.width + left);
    cropped.values.insert(cropped.values.end(), begin, begin + kChannels * width);
  }
  return cropped;
}

uint8_t Gray(uint8_t red, uint8_t green, uint8_t blue) {
  // 0.299, 0.587 and 0.114 in units of 2^-16; their sum is 1.
  return static_cast<uint8_t>((19595 * red + 38470 * green + 7471 * blue + (1 << 15)) >> 16);
}

}  // namespace fixpoint
