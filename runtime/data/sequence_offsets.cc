#include "runtime/data/sequence_offsets.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/wire/program.pb.h"
#include "runtime/tensor_stream.h"

namespace fixpoint {
namespace {

// What a row is filled up with after the last offset of its level.
constexpr int64_t kFilling = -1;

absl::Status IsNot(const Tensor& tensor, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("it is ", VarType::Type_Name(tensor.dtype()), " ",
                                                 DimsText(tensor.dims()), "; want ", wanted));
}

absl::StatusOr<LoD> Checked(LoD lod, int64_t rows) {
  RETURN_IF_ERROR(CheckLod(lod, {rows}));
  return lod;
}

absl::StatusOr<std::vector<uint64_t>> OffsetsOfLevel(absl::Span<const int64_t> row) {
  while (!row.empty() && row.back() == kFilling) row.remove_suffix(1);
  std::vector<uint64_t> offsets;
  for (const int64_t offset : row) {
    if (offset < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("an offset is ", offset, "; want 0 or more, and -1 after the last"));
    }
    offsets.push_back(static_cast<uint64_t>(offset));
  }
  return offsets;
}

template <typename T>
absl::StatusOr<LoD> Accumulated(absl::Span<const T> lengths, int64_t rows) {
  std::vector<uint64_t> offsets = {0};
  for (const T length : lengths) {
    if (length < 0) {
      return absl::InvalidArgumentError(absl::StrCat("a length is ", length, "; want 0 or more"));
    }
    offsets.push_back(offsets.back() + static_cast<uint64_t>(length));
  }
  return Checked({std::move(offsets)}, rows);
}

}  // namespace

absl::StatusOr<LoD> LodFromOffsets(const Tensor& offsets, int64_t rows) {
  const std::vector<int64_t>& dims = offsets.dims();
  const bool is_one_level = dims.size() == 1;
  if (offsets.dtype() != VarType::INT64 || !(is_one_level || dims.size() == 2)) {
    return IsNot(offsets, "INT64 [offsets] or [levels, offsets]");
  }
  if (offsets.size() == 0) return LoD();
  const auto per_level = static_cast<size_t>(dims.back());
  const size_t levels = is_one_level ? 1 : static_cast<size_t>(dims[0]);
  LoD lod;
  for (size_t level = 0; level < levels; ++level) {
    ASSIGN_OR_RETURN(lod.emplace_back(),
                     OffsetsOfLevel(offsets.data<int64_t>().subspan(level * per_level, per_level)));
  }
  return Checked(std::move(lod), rows);
}

absl::StatusOr<LoD> LodFromLengths(const Tensor& lengths, int64_t rows) {
  if (lengths.dims().size() == 1) {
    if (lengths.dtype() == VarType::INT64) return Accumulated(lengths.data<int64_t>(), rows);
    if (lengths.dtype() == VarType::INT32) return Accumulated(lengths.data<int32_t>(), rows);
  }
  return IsNot(lengths, "INT64 or INT32 [sequences]");
}

ChosenSequences Choose(const LoD& lod, absl::Span<const int64_t> sequences) {
  ChosenSequences chosen;
  chosen.lod.assign(lod.size(), {0});
  for (const int64_t sequence : sequences) {
    auto begin = static_cast<uint64_t>(sequence);
    uint64_t end = begin + 1;
    for (size_t level = 0; level < lod.size(); ++level) {
      const std::vector<uint64_t>& offsets = lod[level];
      std::vector<uint64_t>& made = chosen.lod[level];
      for (uint64_t i = begin; i < end; ++i) {
        made.push_back(made.back() + offsets[i + 1] - offsets[i]);
      }
      begin = offsets[begin];
      end = offsets[end];
    }
    chosen.rows.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(end)});
  }
  return chosen;
}

}  // namespace fixpoint
