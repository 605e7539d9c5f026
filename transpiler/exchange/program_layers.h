// The layers of a program, as tools that name modules and not tensors see them.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_PROGRAM_LAYERS_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_PROGRAM_LAYERS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Consecutive forward ops of one name (transpiler/plan/layer_name.h): a convolution and the
// addition of its bias are one layer. Values are those before quantizers.
struct ProgramLayer {
  std::string name;
  std::vector<const Value*> inputs;   // that the first op reads and that are no parameters
  std::vector<const Value*> weights;  // the parameters that the first op reads, but for biases
  const Value* output = nullptr;      // of the last op
  // Whether several layers, that do not follow each other, have the name.
  bool is_ambiguous = false;
};

class ProgramLayers {
 public:
  // Linear in the program.
  explicit ProgramLayers(const Program& program);

  // In program order.
  const std::vector<ProgramLayer>& all() const { return layers_; }
  // Null if there is none of that name.
  const ProgramLayer* Find(absl::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::vector<ProgramLayer> layers_;
  absl::flat_hash_map<std::string, size_t> by_name_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_PROGRAM_LAYERS_H_
