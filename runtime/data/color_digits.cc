#include "runtime/data/color_digits.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "proto/wire/program.pb.h"
#include "runtime/data/digits.h"
#include "runtime/data/random_streams.h"
#include "runtime/random.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

constexpr size_t kDigitExtent = 28;
constexpr size_t kDigitPixels = kDigitExtent * kDigitExtent;
constexpr size_t kMargin = 2;
constexpr size_t kExtent = kDigitExtent + 2 * kMargin;
constexpr size_t kPixels = kExtent * kExtent;
constexpr size_t kChannels = 3;

// An integer from `low` up to `high`, without it.
int Between(int low, int high, uint64_t draw, const RandomStream& stream) {
  return low + static_cast<int>((high - low) * stream.Uniform(draw));
}

// One channel of an image: each pixel of `digit` is the share of ink on paper.
void Color(absl::Span<const uint8_t> digit, int paper, int ink, absl::Span<uint8_t> channel) {
  std::fill(channel.begin(), channel.end(), static_cast<uint8_t>(paper));
  for (size_t row = 0; row < kDigitExtent; ++row) {
    for (size_t column = 0; column < kDigitExtent; ++column) {
      const int share = digit[row * kDigitExtent + column];
      channel[(row + kMargin) * kExtent + column + kMargin] =
          static_cast<uint8_t>((paper * (255 - share) + ink * share + 127) / 255);
    }
  }
}

}  // namespace

absl::StatusOr<ImageSet> RenderColorDigits(int64_t count, uint64_t seed) {
  ASSIGN_OR_RETURN(ImageSet digits, RenderDigits(count, seed));
  ASSIGN_OR_RETURN(Tensor images,
                   Tensor::Allocate(VarType::UINT8, {count, kChannels, kExtent, kExtent}));
  const absl::Span<const uint8_t> shares = digits.images.data<uint8_t>();
  const absl::Span<uint8_t> pixels = images.mutable_data<uint8_t>();
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const RandomStream colors(seed, kColorStream, static_cast<uint32_t>(i));
    for (size_t c = 0; c < kChannels; ++c) {
      const int paper = Between(0, 128, 2 * c, colors);
      const int ink = paper + Between(96, 128, 2 * c + 1, colors);
      Color(shares.subspan(i * kDigitPixels, kDigitPixels), paper, ink,
            pixels.subspan((i * kChannels + c) * kPixels, kPixels));
    }
  }
  return ImageSet{std::move(images), std::move(digits.labels)};
}

}  // namespace fixpoint
