#include "runtime/data/array_samples.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "runtime/checksum.h"
#include "runtime/data/sequence_offsets.h"
#include "runtime/error_place.h"
#include "runtime/npz.h"
#include "runtime/scope.h"

namespace fixpoint {
namespace {

// How many bytes a checksum reads at a time.
constexpr int64_t kChecksumPiece = int64_t{1} << 20;

absl::Status InArray(const NamedArray& array, const absl::Status& error) {
  return Prefixed(absl::StrCat(array.array.place(), ": "), error);
}

// The array whose rows the array of this name cuts; nullptr if it is a field of its own.
const NamedArray* CutBy(absl::string_view name, absl::Span<const NamedArray> arrays) {
  if (!absl::ConsumeSuffix(&name, kLodSuffix) && !absl::ConsumeSuffix(&name, kLengthsSuffix)) {
    return nullptr;
  }
  const auto found = std::find_if(arrays.begin(), arrays.end(),
                                  [&](const NamedArray& array) { return array.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

// The offsets by which the rows of an array are cut; none if they are samples.
absl::StatusOr<LoD> LodOf(const NamedArray& array, absl::Span<const NamedArray> arrays) {
  LoD lod;
  for (const NamedArray& offsets : arrays) {
    if (CutBy(offsets.name, arrays) != &array) continue;
    if (!lod.empty()) {
      return InArray(offsets,
                     absl::InvalidArgumentError(absl::StrCat(
                         "both \"", array.name, kLodSuffix, "\" and \"", array.name, kLengthsSuffix,
                         "\" cut \"", array.name, "\" into sequences; want one of them")));
    }
    ASSIGN_OR_RETURN(const Tensor values, offsets.array.Read());
    const int64_t rows = array.array.dims()[0];
    absl::StatusOr<LoD> made = absl::EndsWith(offsets.name, kLodSuffix)
                                   ? LodFromOffsets(values, rows)
                                   : LodFromLengths(values, rows);
    if (!made.ok()) return InArray(offsets, made.status());
    lod = *std::move(made);
  }
  return lod;
}

absl::Status CheckArrays(absl::string_view place, absl::Span<const NamedArray> arrays) {
  if (arrays.empty()) return absl::InvalidArgumentError(absl::StrCat(place, ": has no arrays"));
  for (const NamedArray& array : arrays) {
    if (array.array.dims().empty()) {
      return InArray(array, absl::InvalidArgumentError(
                                "the array has one element and no axis; want samples along its "
                                "first axis"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ArraySamples> ArraySamples::Create(std::string place,
                                                  std::vector<NamedArray> arrays) {
  RETURN_IF_ERROR(CheckArrays(place, arrays));
  ArraySamples samples(std::move(place));
  const NamedArray* first = nullptr;
  for (const NamedArray& array : arrays) {
    if (CutBy(array.name, arrays) != nullptr) continue;
    ASSIGN_OR_RETURN(LoD lod, LodOf(array, arrays));
    const std::vector<int64_t>& dims = array.array.dims();
    const int64_t size = lod.empty() ? dims[0] : static_cast<int64_t>(lod[0].size()) - 1;
    if (first == nullptr) {
      first = &array;
      samples.size_ = size;
    } else if (size != samples.size_) {
      return InArray(array, absl::InvalidArgumentError(absl::StrCat(
                                "\"", array.name, "\" has ", size, " samples, and \"", first->name,
                                "\" has ", samples.size_, "; want as many")));
    }
    samples.fields_.push_back({array.name,
                               array.array.dtype(),
                               {dims.begin() + 1, dims.end()},
                               static_cast<int>(lod.size()),
                               array.array.place()});
    samples.sources_.push_back({array.array, std::move(lod)});
  }
  if (samples.size_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat(samples.place_, ": has no samples"));
  }
  return samples;
}

absl::StatusOr<ArraySamples> ArraySamples::OpenNpz(const std::string& path) {
  ASSIGN_OR_RETURN(Scope scope, LoadNpz(path));
  std::vector<std::string> names;
  for (const auto& [name, value] : scope) names.push_back(name);
  std::vector<NamedArray> arrays;
  for (const std::string& name : names) {
    Tensor& tensor = std::get<Tensor>(*scope.FindOrNull(name));
    arrays.push_back(
        {name, StoredArray(absl::StrCat(path, ": member ", Quoted(name)), std::move(tensor))});
  }
  return Create(path, std::move(arrays));
}

absl::StatusOr<ArraySamples> ArraySamples::OpenNpy(
    const std::vector<std::pair<std::string, std::string>>& names_and_paths) {
  std::vector<NamedArray> arrays;
  for (const auto& [name, path] : names_and_paths) {
    ASSIGN_OR_RETURN(StoredArray array, StoredArray::Open(path));
    arrays.push_back({name, std::move(array)});
  }
  const std::string place = arrays.empty() ? "" : arrays[0].array.place();
  return Create(place, std::move(arrays));
}

std::string ArraySamples::NameOf(int64_t sample) const {
  return absl::StrCat(place_, ": sample ", sample);
}

absl::StatusOr<std::vector<Tensor>> ArraySamples::Read(absl::Span<const int64_t> samples,
                                                       absl::Span<const FieldForm> forms) const {
  std::vector<Tensor> batch;
  for (const FieldForm& form : forms) {
    ASSIGN_OR_RETURN(Tensor tensor, ReadField(form, samples));
    batch.push_back(std::move(tensor));
  }
  return batch;
}

absl::StatusOr<Tensor> ArraySamples::ReadField(const FieldForm& form,
                                               absl::Span<const int64_t> samples) const {
  const Source& source = sources_[form.field];
  ChosenSequences chosen;
  if (source.lod.empty()) {
    for (const int64_t sample : samples) chosen.rows.push_back({sample, sample + 1});
  } else {
    chosen = Choose(source.lod, samples);
  }
  int64_t rows = 0;
  for (const Sequence& sequence : chosen.rows) rows += sequence.length();
  std::vector<int64_t> dims = form.dims;
  dims.insert(dims.begin(), rows);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(source.array.dtype(), std::move(dims)));
  absl::Span<uint8_t> rest = tensor.mutable_bytes();
  const size_t row_bytes = rows == 0 ? 0 : rest.size() / static_cast<size_t>(rows);
  for (const Sequence& sequence : chosen.rows) {
    const size_t bytes = static_cast<size_t>(sequence.length()) * row_bytes;
    RETURN_IF_ERROR(source.array.ReadRows(sequence.begin, sequence.end, rest.subspan(0, bytes)));
    rest.remove_prefix(bytes);
  }
  tensor.set_lod(std::move(chosen.lod));
  return tensor;
}

absl::StatusOr<uint64_t> ArraySamples::Checksum() const {
  fixpoint::Checksum checksum;
  std::vector<uint8_t> piece;
  const auto add = [&](const void* data, size_t bytes) {
    checksum.Add({static_cast<const uint8_t*>(data), bytes});
  };
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Source& source = sources_[i];
    const std::vector<int64_t>& dims = source.array.dims();
    add(fields_[i].name.data(), fields_[i].name.size());
    add(dims.data(), dims.size() * sizeof(int64_t));
    for (const std::vector<uint64_t>& level : source.lod) {
      add(level.data(), level.size() * sizeof(uint64_t));
    }
    ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(source.array.dtype(), dims));
    if (bytes == 0) continue;
    const int64_t row_bytes = bytes / dims[0];
    const int64_t rows = std::max<int64_t>(1, kChecksumPiece / row_bytes);
    for (int64_t begin = 0; begin < dims[0]; begin += rows) {
      const int64_t end = std::min(begin + rows, dims[0]);
      piece.resize(static_cast<size_t>((end - begin) * row_bytes));
      RETURN_IF_ERROR(source.array.ReadRows(begin, end, absl::MakeSpan(piece)));
      checksum.Add(piece);
    }
  }
  return checksum.value();
}

}  // namespace fixpoint
