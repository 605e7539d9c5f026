// Clips gradients, between the backward pass and the updates.

#ifndef FIXPOINT_OPS_GRADIENT_CLIP_H_
#define FIXPOINT_OPS_GRADIENT_CLIP_H_

#include <vector>

#include "ops/backward.h"
#include "ops/program_builder.h"

namespace fixpoint {

struct GradientClip {
  enum class Kind { kNone, kByValue, kByNorm, kByGlobalNorm };
  Kind kind = Kind::kNone;
  float min = 0;  // for kByValue
  float max = 0;  // for kByValue; for the others, the largest norm

  static GradientClip ByValue(float min, float max) { return {Kind::kByValue, min, max}; }
  // Each gradient g on its own: g * max / ||g|| where ||g|| > max.
  static GradientClip ByNorm(float max) { return {Kind::kByNorm, 0, max}; }
  // All together: g * max / max(||all||, max).
  static GradientClip ByGlobalNorm(float max) { return {Kind::kByGlobalNorm, 0, max}; }
};

// Appends the ops of a clip; each parameter's gradient is then the clipped one. A sparse gradient
// stays sparse, and its norm is that of its rows once rows of equal index are added up.
void ClipGradients(const GradientClip& clip, ProgramBuilder& builder,
                   std::vector<ParameterGradient>& parameters);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_GRADIENT_CLIP_H_
