#include "transpiler/weights/kept_codes.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "runtime/npy.h"
#include "runtime/tensor.h"

namespace fixpoint {

std::string KeptCodes::FileOf(uint64_t learned_from) const {
  return absl::StrFormat("%s/%s%016x.npy", folder_, kKeptCodesPrefix, learned_from);
}

absl::StatusOr<std::optional<std::vector<int32_t>>> KeptCodes::Find(uint64_t learned_from,
                                                                    size_t count) const {
  const std::string path = FileOf(learned_from);
  std::error_code error;
  if (folder_.empty() || !std::filesystem::exists(path, error)) return std::nullopt;
  ASSIGN_OR_RETURN(const Tensor kept, LoadNpy(path));
  if (kept.dtype() != VarType::INT16 || kept.size() != static_cast<int64_t>(count)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is not the ", count, " learned codes that were kept there; remove it"));
  }
  const absl::Span<const int16_t> codes = kept.data<int16_t>();
  return std::vector<int32_t>(codes.begin(), codes.end());
}

absl::Status KeptCodes::Keep(uint64_t learned_from, absl::Span<const int32_t> codes) const {
  if (folder_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(Tensor kept,
                   Tensor::Allocate(VarType::INT16, {static_cast<int64_t>(codes.size())}));
  std::transform(codes.begin(), codes.end(), kept.mutable_data<int16_t>().begin(),
                 [](int32_t code) { return static_cast<int16_t>(code); });
  ASSIGN_OR_RETURN(const std::string bytes, NpyBytes(kept));
  return WriteFileAtomically(FileOf(learned_from), bytes);
}

}  // namespace fixpoint
