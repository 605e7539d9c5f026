#include "runtime/reference/selected_rows.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fixpoint::reference {

Array TableOf(VarType::Type dtype, DimsView dims, TableRows rows) {
  Array table(dtype, dims);
  const int64_t width = dims[1];
  for (size_t r = 0; r < rows.ids.size(); ++r) {
    for (int64_t j = 0; j < width; ++j) {
      table[rows.ids[r] * width + j] += rows.values[r * width + j];
    }
  }
  table.rows = std::make_shared<const TableRows>(std::move(rows));
  return table;
}

TableRows Merged(const TableRows& rows) {
  if (rows.ids.empty()) return rows;
  const size_t width = rows.values.size() / rows.ids.size();
  std::map<int64_t, std::vector<double>> sums;
  for (size_t r = 0; r < rows.ids.size(); ++r) {
    std::vector<double>& sum = sums[rows.ids[r]];
    sum.resize(width);
    for (size_t j = 0; j < width; ++j) sum[j] += rows.values[r * width + j];
  }
  TableRows merged;
  for (const auto& [id, sum] : sums) {
    merged.ids.push_back(id);
    merged.values.insert(merged.values.end(), sum.begin(), sum.end());
  }
  return merged;
}

Array WithRows(const Array& table, const std::function<double(double)>& function) {
  TableRows rows = *table.rows;
  for (double& element : rows.values) element = function(element);
  return TableOf(table.dtype, table.dims, std::move(rows));
}

absl::StatusOr<const TableRows*> RowsOf(const OpRun& op, absl::string_view slot) {
  const Array& table = op.Input(slot);
  if (table.rows != nullptr) return table.rows.get();
  return absl::InvalidArgumentError(
      absl::StrCat(slot,
                   " is a tensor; want the gradient of a sparse embedding, or a sum, a clip "
                   "or a multiple of such"));
}

}  // namespace fixpoint::reference
