#include "runtime/kernels/onednn_packed_form.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// Of what oneDNN appends to the elements of integer weights, sums of them.
size_t AppendedBytes(const memory::desc& desc) {
  size_t bytes = memory::data_type_size(desc.get_data_type());
  for (const memory::dim dim : desc.get_padded_dims()) bytes *= static_cast<size_t>(dim);
  return desc.get_size() - bytes;
}

// "" as in FormOfReordering, but for what is appended.
std::string LayoutText(const memory::desc& desc) {
  if (desc.get_format_kind() != memory::format_kind::blocked) return "";
  const auto text = [](const memory::dims& numbers) { return absl::StrJoin(numbers, ","); };
  return absl::StrCat(static_cast<int>(desc.get_data_type()), "[", text(desc.get_dims()), "|",
                      text(desc.get_padded_dims()), "|", text(desc.get_strides()), "|",
                      text(desc.get_inner_blks()), "|", text(desc.get_inner_idxs()), "]");
}

}  // namespace

std::string FormOfReordering(const memory::desc& from, const memory::desc& to) {
  return AppendedBytes(to) == 0 ? FormOfReordering(from, to, "") : "";
}

std::string FormOfReordering(const memory::desc& from, const memory::desc& to,
                             absl::string_view appended) {
  const std::string source = LayoutText(from);
  const std::string target = LayoutText(to);
  if (source.empty() || target.empty()) return "";
  const size_t bytes = AppendedBytes(to);
  return absl::StrCat(source, " to ", target,
                      bytes > 0 ? absl::StrCat(" and ", bytes, " bytes ", appended) : "");
}

}  // namespace fixpoint::kernels
