#include "ops/layers/parameters.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/dims.h"

namespace fixpoint {

int64_t FlattenedSize(ProgramBuilder& net, absl::string_view layer, const std::string& x,
                      int first_axis) {
  const std::vector<int64_t> dims = net.DimsOf(x);
  if (!net.status().ok()) return 0;
  if (first_axis >= 1 && first_axis < static_cast<int>(dims.size())) {
    const absl::StatusOr<int64_t> size = ElementCount(DimsView(dims).subspan(first_axis));
    if (size.ok() && *size >= 1) return *size;
  }
  net.Fail(absl::InvalidArgumentError(
      absl::StrCat(layer, ": \"", x, "\" is ", DimsText(dims), ", flattened from axis ", first_axis,
                   " on; want an axis after the first, and known sizes of fewer than 2^63 "
                   "elements")));
  return 0;
}

std::string AddBias(ProgramBuilder& net, const std::string& x, const std::string& layer,
                    int64_t size, int axis) {
  const std::string bias = AddParameter(net, layer + ".b_0", {size}, Initializer::Constant(0));
  return net.AppendWithOutput(
      net.New("elementwise_add").Input("X", x).Input("Y", bias).IntAttr("axis", axis), "Out",
      layer + ".tmp_1");
}

}  // namespace fixpoint
