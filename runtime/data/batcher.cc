#include "runtime/data/batcher.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/backend.h"
#include "runtime/data/random_streams.h"
#include "runtime/finite_values.h"
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

absl::Status CheckForm(const SampleField& field, const FieldForm& form) {
  const absl::StatusOr<int64_t> wanted = TensorSize(form.dims);
  if (wanted.ok() && *wanted == *ElementCount(field.dims)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a sample of \"", field.name, "\" is ", DimsText(field.dims), ", and in a batch it is to be ",
      DimsText(form.dims), "; want as many elements"));
}

// REQUIRES: it holds integers.
absl::StatusOr<Tensor> AsInt64(const Tensor& tensor) {
  ASSIGN_OR_RETURN(Tensor wide, Tensor::Allocate(VarType::INT64, tensor.dims()));
  const auto widen = [&](auto type) {
    const auto from = tensor.data<decltype(type)>();
    std::copy(from.begin(), from.end(), wide.mutable_data<int64_t>().begin());
  };
  switch (tensor.dtype()) {
    case VarType::INT8:
      widen(int8_t{});
      break;
    case VarType::UINT8:
      widen(uint8_t{});
      break;
    case VarType::INT16:
      widen(int16_t{});
      break;
    case VarType::INT32:
      widen(int32_t{});
      break;
    default:
      widen(int64_t{});
  }
  wide.set_lod(tensor.lod());
  return wide;
}

absl::Status CheckAugmentation(const SampleSet& set, absl::Span<const FieldForm> forms,
                               const Augmentation& augmentation) {
  if (augmentation.padding < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("images are padded by ", augmentation.padding, " pixels; want 0 or more"));
  }
  const bool has_images = std::any_of(forms.begin(), forms.end(), [&](const FieldForm& form) {
    return CanBeAugmented(set.fields()[form.field]);
  });
  if (augmentation.is_none() || has_images) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "there are no images to augment; want a field \"images\", FP32 [C, H, W]");
}

}  // namespace

absl::StatusOr<Batcher> Batcher::Create(const SampleSet* set, std::vector<FieldForm> forms,
                                        const BatchOptions& options) {
  if (set->size() == 0) return absl::InvalidArgumentError("the set has no samples");
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the batch size is ", options.batch_size, "; expected 1 or more"));
  }
  for (const FieldForm& form : forms) {
    RETURN_IF_ERROR(CheckForm(set->fields()[form.field], form));
  }
  RETURN_IF_ERROR(CheckAugmentation(*set, forms, options.augmentation));
  if (options.drop_last && set->size() < options.batch_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the set has ", set->size(), " samples, less than a batch of ",
                     options.batch_size, ", and the last batch is dropped: none is left"));
  }
  return Batcher(set, std::move(forms), options);
}

absl::StatusOr<Batcher> Batcher::Create(const SampleSet* set, const BatchOptions& options) {
  std::vector<FieldForm> forms;
  for (const SampleField& field : set->fields()) forms.push_back({forms.size(), field.dims});
  return Create(set, std::move(forms), options);
}

int64_t Batcher::BatchesPerEpoch() const {
  const int64_t count = set_->size();
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
  order_.resize(static_cast<size_t>(set_->size()));
  std::iota(order_.begin(), order_.end(), 0);
  if (options_.shuffle) Shuffle(options_.seed, position_.epoch, order_);
  ordered_epoch_ = position_.epoch;
}

absl::Status Batcher::CheckFiniteSamples(absl::Span<const int64_t> samples) const {
  for (const int64_t sample : samples) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> values, set_->Read({sample}, forms_));
    for (size_t i = 0; i < values.size(); ++i) {
      const absl::Status status = CheckFinite(values[i]);
      if (status.ok()) continue;
      const SampleField& field = set_->fields()[forms_[i].field];
      return AtPlace(absl::StrCat(set_->NameOf(sample), " of \"", field.name, "\""), status);
    }
  }
  return absl::OkStatus();
}

std::vector<int64_t> Batcher::NextSamples() {
  OrderEpoch();
  const int64_t first = position_.batch * options_.batch_size;
  const int64_t count = std::min(options_.batch_size, set_->size() - first);
  return {order_.begin() + first, order_.begin() + first + count};
}

absl::StatusOr<Batch> Batcher::Next() {
  Batch batch;
  batch.samples = NextSamples();
  ASSIGN_OR_RETURN(batch.values, set_->Read(batch.samples, forms_));
  const bool is_refused =
      options_.check_finite &&
      !std::all_of(batch.values.begin(), batch.values.end(),
                   [](const Tensor& values) { return CheckFinite(values).ok(); });
  if (is_refused) RETURN_IF_ERROR(CheckFiniteSamples(batch.samples));
  for (size_t i = 0; i < forms_.size(); ++i) {
    if (!forms_[i].as_int64) continue;
    ASSIGN_OR_RETURN(batch.values[i], AsInt64(batch.values[i]));
  }
  for (size_t i = 0; i < forms_.size() && !options_.augmentation.is_none(); ++i) {
    const SampleField& field = set_->fields()[forms_[i].field];
    if (!CanBeAugmented(field)) continue;
    RETURN_IF_ERROR(Augment(options_.augmentation, options_.seed, position_.epoch, field,
                            batch.samples, &batch.values[i]));
  }

  ++position_.batch;
  if (position_.batch == BatchesPerEpoch()) position_ = {position_.epoch + 1, 0};
  if (!IsAtEnd()) set_->WillRead(NextSamples());
  return batch;
}

}  // namespace fixpoint
