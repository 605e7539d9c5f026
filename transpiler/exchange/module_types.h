// The op types of this project that a module type of PyTorch, which NNI's configurations name,
// stands for.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_MODULE_TYPES_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_MODULE_TYPES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fixpoint {

struct ModuleType {
  std::string name;  // "Conv2d"
  std::vector<std::string> op_types;
};

// The whole map, by name.
const std::vector<ModuleType>& ModuleTypes();

// The op types of a module type, or of "default": all those with a weight. None for a type that is
// not in the map.
std::vector<std::string> OpTypesOfModule(absl::string_view name);

// The op types of all module types, each once.
std::vector<std::string> OpTypesOfAllModules();

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_MODULE_TYPES_H_
