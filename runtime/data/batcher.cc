#include "runtime/data/batcher.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/wire/program.pb.h"
#include "runtime/data/random_streams.h"
#include "runtime/random.h"

namespace fixpoint {
namespace {

// A number below `bound`, made from 64 random bits: probabilities differ by at most a factor of 1 +
// 2^-64 * `bound`.
int64_t Below(int64_t bound, uint64_t bits) {
  return static_cast<int64_t>(static_cast<unsigned __int128>(bits) * static_cast<uint64_t>(bound) >>
                              64);
}

// The shuffle of Fisher and Yates. Swap i takes the first two words of block i of the stream.
void Shuffle(uint64_t seed, int64_t epoch, std::vector<int64_t>& order) {
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  for (size_t i = order.size(); i-- > 1;) {
    const std::array<uint32_t, 4> words =
        Philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), kShuffleStream,
                    static_cast<uint32_t>(epoch)},
                   key);
    const uint64_t bits = uint64_t{words[1]} << 32 | words[0];
    std::swap(order[i], order[static_cast<size_t>(Below(static_cast<int64_t>(i) + 1, bits))]);
  }
}

std::string Described(const Tensor& tensor) {
  return absl::StrCat(VarType::Type_Name(tensor.dtype()), " ", DimsText(tensor.dims()));
}

absl::Status CheckSet(const ImageSet& set) {
  const Tensor& images = set.images;
  const Tensor& labels = set.labels;
  if (images.dtype() != VarType::UINT8 || images.dims().size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("the images are ", Described(images), "; expected UINT8 [N, C, H, W]"));
  }
  const int64_t count = images.dims()[0];
  if (labels.dtype() != VarType::INT64 || labels.dims() != std::vector<int64_t>{count}) {
    return absl::InvalidArgumentError(absl::StrCat("the labels are ", Described(labels),
                                                   "; expected INT64 [", count,
                                                   "], one for each image"));
  }
  if (count == 0) return absl::InvalidArgumentError("the set has no images");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Batcher> Batcher::Create(const ImageSet* set, const BatchOptions& options) {
  RETURN_IF_ERROR(CheckSet(*set));
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the batch size is ", options.batch_size, "; expected 1 or more"));
  }
  const Dims of_set(set->images.dims().begin() + 1, set->images.dims().end());
  const absl::StatusOr<int64_t> pixels = TensorSize(options.image_dims);
  if (!options.image_dims.empty() && (!pixels.ok() || *pixels != *ElementCount(of_set))) {
    return absl::InvalidArgumentError(
        absl::StrCat("an image of the set is ", DimsText(of_set), ", and in a batch it is to be ",
                     DimsText(options.image_dims), "; want as many pixels"));
  }
  if (!std::isfinite(options.scale) || !std::isfinite(options.offset)) {
    return absl::InvalidArgumentError(absl::StrCat("the scale is ", options.scale,
                                                   " and the offset ", options.offset,
                                                   "; expected finite numbers"));
  }
  const int64_t count = set->images.dims()[0];
  if (options.drop_last && count < options.batch_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the set has ", count, " images, less than a batch of ", options.batch_size,
                     ", and the last batch is dropped: none is left"));
  }
  return Batcher(set, options);
}

Batcher::Batcher(const ImageSet* set, const BatchOptions& options) : set_(set), options_(options) {
  if (options_.image_dims.empty()) {
    options_.image_dims.assign(set->images.dims().begin() + 1, set->images.dims().end());
  }
  for (size_t pixel = 0; pixel < values_.size(); ++pixel) {
    values_[pixel] = static_cast<float>(pixel) * options.scale + options.offset;
  }
}

int64_t Batcher::BatchesPerEpoch() const {
  const int64_t count = set_->images.dims()[0];
  const int64_t whole = count / options_.batch_size;
  return options_.drop_last || count % options_.batch_size == 0 ? whole : whole + 1;
}

absl::Status Batcher::Seek(BatchPosition position) {
  const int64_t batches = BatchesPerEpoch();
  if (position.epoch < 0 || position.batch < 0 || position.batch >= batches) {
    return absl::InvalidArgumentError(absl::StrCat("there is no batch ", position.batch,
                                                   " of epoch ", position.epoch,
                                                   "; epochs from 0 on have "
                                                   "batches 0 to ",
                                                   batches - 1, " with this set and batch size"));
  }
  position_ = position;
  return absl::OkStatus();
}

void Batcher::OrderEpoch() {
  if (ordered_epoch_ == position_.epoch) return;
  order_.resize(static_cast<size_t>(set_->images.dims()[0]));
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.shuffle) Shuffle(options_.seed, position_.epoch, order_);
  ordered_epoch_ = position_.epoch;
}

absl::StatusOr<Batch> Batcher::Next() {
  OrderEpoch();
  const int64_t first = position_.batch * options_.batch_size;
  const int64_t count = std::min(options_.batch_size, set_->images.dims()[0] - first);
  std::vector<int64_t> dims = options_.image_dims;
  dims.insert(dims.begin(), count);
  ASSIGN_OR_RETURN(Tensor images, Tensor::Allocate(VarType::FP32, dims));
  ASSIGN_OR_RETURN(Tensor labels, Tensor::Allocate(VarType::INT64, {count, 1}));

  const auto image_size = static_cast<size_t>(images.size() / count);
  const absl::Span<const uint8_t> from = std::as_const(set_->images).data<uint8_t>();
  auto value = images.mutable_data<float>().begin();
  auto label = labels.mutable_data<int64_t>().begin();
  for (int64_t i = first; i < first + count; ++i) {
    const auto index = static_cast<size_t>(order_[static_cast<size_t>(i)]);
    for (const uint8_t pixel : from.subspan(index * image_size, image_size)) {
      *value++ = values_[pixel];
    }
    *label++ = set_->labels.data<int64_t>()[index];
  }

  ++position_.batch;
  if (position_.batch == BatchesPerEpoch()) position_ = {position_.epoch + 1, 0};
  return Batch{std::move(images), std::move(labels)};
}

}  // namespace fixpoint
