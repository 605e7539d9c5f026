// The layers of a network whose levels a search decides, and the rules that say so in a
// configuration.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_LAYER_LEVELS_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_LAYER_LEVELS_H_

#include <string>
#include <vector>

#include "proto/config/quant_config.pb.h"
#include "proto/config/quant_plan.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/quantize/level_search.h"

namespace fixpoint {

// A quantized op or, where no name tells it from others, all that the keys of its rule match.
struct QuantizedLayer {
  std::string output;            // of its first op
  std::vector<QuantRule> rules;  // keys alone
};

class LayerLevels {
 public:
  // The layers that a plan quantizes in the program that it was made for, in its order. Linear in
  // the program.
  static LayerLevels Of(const Program& program, const QuantPlan& plan);

  const std::vector<QuantizedLayer>& layers() const { return layers_; }

  // As configured, 8 bits if that is fewer, and float.
  int levels() const { return has_fewer_bits_ ? 3 : 2; }

  // "8 bits" or "float", for a level that is not as configured.
  std::string NameOf(int level) const;

  // The configuration with rules, after its own, for the layers that are not as configured.
  QuantConfig Apply(const QuantConfig& config, const Levels& levels) const;

 private:
  std::vector<QuantizedLayer> layers_;
  bool has_fewer_bits_ = false;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_LAYER_LEVELS_H_
