#include "tools/inference_inputs.h"

#include "absl/strings/str_cat.h"
#include "ops/dims.h"
#include "proto/status_macros.h"
#include "runtime/npy.h"
#include "runtime/parameter_file.h"
#include "tools/command_line.h"

namespace fixpoint {

absl::StatusOr<Scope> LoadScope(const Program& program, const std::string& path,
                                absl::string_view flag, const std::string& params) {
  const size_t count = ParametersOf(program.Proto()).size();
  if (count == 0) return Scope();
  if (params.empty()) {
    return UsageError(absl::StrCat(path, " has ", count, " parameters, which are wanted: --", flag,
                                   "=FILE or --", flag, "=FOLDER"));
  }
  return LoadParameters(program.Proto(), params);
}

absl::StatusOr<Tensor> LoadFeed(const NamedFile& feed, const Variable& variable) {
  ASSIGN_OR_RETURN(Tensor tensor, LoadNpy(feed.file));
  const VarType::TensorDesc* declared = variable.tensor();
  if (declared == nullptr) return tensor;
  const DimsView dims(declared->dims().data(), declared->dims_size());
  // Exporters declare the extents of an example, and programs run with others.
  const bool is_rank_right = dims.empty() || tensor.dims().size() == dims.size();
  if (tensor.dtype() == declared->data_type() && is_rank_right) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat(feed.file, ": is ", VarType::Type_Name(tensor.dtype()), " ",
                   DimsText(tensor.dims()), "; want what the program declares of \"", feed.name,
                   "\", ", VarType::Type_Name(declared->data_type()), " ", DimsText(dims)));
}

}  // namespace fixpoint
