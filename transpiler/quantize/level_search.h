// Which layers of a network have to be quantized less than was asked for, so that it stays good
// enough; or may be, so that it stays small enough. It knows layers by number, and programs not at
// all.
//
// A layer has a level: 0 is as configured, each next one more precise, and the last is float. The
// order of layers follows from the noise that each of them alone makes in the outputs: noise is
// measured directly, needs no labels, and adds up over layers to a first order, while the metric of
// one layer alone is mostly within its own error. Along this order the number of layers is found by
// bisection; then layers that turn out not to be needed are given back.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_LEVEL_SEARCH_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_LEVEL_SEARCH_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

namespace fixpoint {

// The level of each layer.
using Levels = std::vector<int>;

// What a network with these levels comes to.
using LevelTrial = std::function<absl::StatusOr<double>(const Levels& levels)>;

struct LevelSpace {
  int layers = 0;  // at least 1
  int levels = 2;  // at least 2
  // The noise in the outputs where a single layer is not float, relative to the outputs.
  LevelTrial noise;

  int float_level() const { return levels - 1; }
  // All layers are float but one.
  Levels Alone(int layer, int level) const;
};

struct FoundLevels {
  Levels levels;
  double reached = 0;  // by these levels
  bool holds = true;   // or else it is the best of what was tried
};

// A small set of the items 0 to count - 1 for which `holds` is true, given that it is for all of
// them: the smallest prefix, by bisection, without the items that are not needed there, of which
// the last kMostGivenBack are tried. `holds` is called for no prefix of 0 or `count` items.
inline constexpr int kMostGivenBack = 16;
absl::StatusOr<std::vector<bool>> SmallSet(
    int count, const std::function<absl::StatusOr<bool>(const std::vector<bool>& chosen)>& holds);

// The fewest layers at a higher level for which `drop` is at most `most`. Layers go up together
// from one level to the next if that alone is not enough. At least one layer stays quantized.
// Errors: those of the trials.
absl::StatusOr<FoundLevels> FindLevelsForDrop(const LevelSpace& space, double most,
                                              const LevelTrial& drop);

// The same where a drop takes long to measure and `estimate`, which is near it, does not. Unless
// all layers can stay as configured, the levels that hold by the estimate are tried: where they
// hold, some of their layers may not be needed, and where they do not, the next layers in the order
// of noise go up too. From there the number of layers is found in steps that double, and then by
// bisection, so that `drop` is called for about twice the logarithm of the number of layers that
// the estimate is wrong by.
absl::StatusOr<FoundLevels> FindLevelsForEstimatedDrop(const LevelSpace& space, double most,
                                                       const LevelTrial& estimate,
                                                       const LevelTrial& drop);

// The least noise for which `cost` is at most `most`: layers are quantized in the order of what
// they save for their noise. At least one layer is quantized. Errors: those of the trials.
absl::StatusOr<FoundLevels> FindLevelsForBudget(const LevelSpace& space, double most,
                                                const LevelTrial& cost);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_LEVEL_SEARCH_H_
