#include "runtime/data/augmentation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "proto/base/status_macros.h"
#include "proto/wire/program.pb.h"
#include "runtime/data/image_samples.h"
#include "runtime/data/random_streams.h"
#include "runtime/random.h"

namespace fixpoint {
namespace {

// How an image is changed.
struct Change {
  int64_t down = 0;
  int64_t right = 0;
  bool is_mirrored = false;
};

// The first three words of a block of the stream. Of 2^32 values each move has as many, but for
// one.
Change Draw(const Augmentation& augmentation, uint64_t seed, int64_t epoch, int64_t sample) {
  const std::array<uint32_t, 4> words =
      Philox4x32({static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32),
                  kAugmentationStream, static_cast<uint32_t>(epoch)},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const auto moves = static_cast<uint64_t>(2 * augmentation.padding + 1);
  const auto move = [&](uint32_t word) {
    return static_cast<int64_t>(word * moves >> 32) - augmentation.padding;
  };
  return {move(words[0]), move(words[1]), augmentation.flip && words[2] >> 31 != 0};
}

void ChangePlane(const Change& change, int64_t height, int64_t width, absl::Span<const float> from,
                 absl::Span<float> to) {
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from_y = y - change.down;
    for (int64_t x = 0; x < width; ++x) {
      const int64_t moved_x = x - change.right;
      const int64_t from_x = change.is_mirrored ? width - 1 - moved_x : moved_x;
      const bool is_inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
      to[static_cast<size_t>(y * width + x)] =
          is_inside ? from[static_cast<size_t>(from_y * width + from_x)] : 0;
    }
  }
}

}  // namespace

bool CanBeAugmented(const SampleField& field) {
  return field.name == ImageSamples::kImagesField && field.dtype == VarType::FP32 &&
         field.dims.size() == 3 && field.lod_levels == 0;
}

absl::Status Augment(const Augmentation& augmentation, uint64_t seed, int64_t epoch,
                     const SampleField& field, absl::Span<const int64_t> samples, Tensor* images) {
  ASSIGN_OR_RETURN(const Tensor stored, images->Clone());
  const int64_t height = field.dims[1];
  const int64_t width = field.dims[2];
  const auto plane = static_cast<size_t>(height * width);
  size_t at = 0;
  for (const int64_t sample : samples) {
    const Change change = Draw(augmentation, seed, epoch, sample);
    for (int64_t channel = 0; channel < field.dims[0]; ++channel, at += plane) {
      ChangePlane(change, height, width, stored.data<float>().subspan(at, plane),
                  images->mutable_data<float>().subspan(at, plane));
    }
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
