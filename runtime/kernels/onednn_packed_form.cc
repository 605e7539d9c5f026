#include "runtime/kernels/onednn_packed_form.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

// "" as in FormOfReordering.
std::string LayoutText(const memory::desc& desc) {
  if (desc.get_format_kind() != memory::format_kind::blocked) return "";
  const memory::dims padded = desc.get_padded_dims();
  size_t bytes = memory::data_type_size(desc.get_data_type());
  for (const memory::dim dim : padded) bytes *= static_cast<size_t>(dim);
  // oneDNN appends sums of integer weights.
  if (desc.get_size() != bytes) return "";
  const auto text = [](const memory::dims& numbers) { return absl::StrJoin(numbers, ","); };
  return absl::StrCat(static_cast<int>(desc.get_data_type()), "[", text(desc.get_dims()), "|",
                      text(padded), "|", text(desc.get_strides()), "|", text(desc.get_inner_blks()),
                      "|", text(desc.get_inner_idxs()), "]");
}

}  // namespace

std::string FormOfReordering(const memory::desc& from, const memory::desc& to) {
  const std::string source = LayoutText(from);
  const std::string target = LayoutText(to);
  return source.empty() || target.empty() ? "" : absl::StrCat(source, " to ", target);
}

}  // namespace fixpoint::kernels
