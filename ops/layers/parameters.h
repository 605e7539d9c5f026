// What layers with parameters share.

#ifndef FIXPOINT_OPS_LAYERS_PARAMETERS_H_
#define FIXPOINT_OPS_LAYERS_PARAMETERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/program_builder.h"

namespace fixpoint {

// Declares a parameter; returns its name.
inline std::string AddParameter(ProgramBuilder& net, const std::string& name,
                                const std::vector<int64_t>& dims, const Initializer& initializer,
                                bool is_trained = true) {
  Persistable parameter;
  parameter.name = name;
  parameter.dims = dims;
  parameter.initializer = initializer;
  parameter.is_parameter = true;
  parameter.stop_gradient = !is_trained;
  net.AddPersistable(parameter);
  return name;
}

// The number of elements after `first_axis`, which a layer takes as one axis. 0 after an error
// (kInvalidArgument): that axis is not after the first one, a size from there on is not known, or
// the product is too large.
int64_t FlattenedSize(ProgramBuilder& net, absl::string_view layer, const std::string& x,
                      int first_axis);

// x plus a bias [size] of zeros along an axis.
std::string AddBias(ProgramBuilder& net, const std::string& x, const std::string& layer,
                    int64_t size, int axis);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_LAYERS_PARAMETERS_H_
