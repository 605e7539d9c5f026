// The arithmetic of AdaRound (round_weights.h) for one weight, on spans.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_LEARNED_ROUNDING_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_LEARNED_ROUNDING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor.h"
#include "transpiler/freeze/weight_codes.h"
#include "transpiler/weights/round_weights.h"

namespace fixpoint {

// How far each element is rounded up from the code below it, h = clip(1.2 sigmoid(V) - 0.1, 0, 1),
// with a V for each, which begins where h is the element's distance from that code in steps. An
// element at the end of its range keeps its code, so that the range is found again, and so does one
// that is a code.
class LearnedRounding {
 public:
  // `nearest`: the codes of the weight, as MakeSiteCodes makes them with `options`. REQUIRES: they
  // have no zero points.
  LearnedRounding(const Tensor& weight, const WeightCodes& nearest,
                  const WeightCodesOptions& options);

  // The floats that the elements stand for while they are learned.
  void Write(absl::Span<float> weights) const;

  // The codes that h >= 1/2 rounds up to, and those that the weight began with.
  std::vector<int32_t> RoundedCodes() const;
  const std::vector<int32_t>& nearest_codes() const { return nearest_codes_; }
  // The floats that codes stand for, which rounding to the nearest codes finds again.
  void WriteCodes(absl::Span<const int32_t> codes, absl::Span<float> weights) const;

  // One step of Adam, counted from 0, on the loss with the gradient `gradient` with respect to what
  // Write gives, and on lambda * sum(1 - |2h - 1|^beta).
  void Step(int64_t step, absl::Span<const float> gradient, const RoundOptions& options);

  // The exponent beta in a step; 0 in the first ones, which are without the second term.
  static double BetaOf(int64_t step, const RoundOptions& options);

 private:
  struct Element {
    float below;  // a code, as all codes here
    float range;  // that the largest code stands for
    bool is_fixed;
    float v;
    float mean = 0;      // of the gradients
    float variance = 0;  // likewise, about 0
  };

  float Clipped(float code) const;

  float smallest_;
  float largest_;
  std::vector<Element> elements_;
  std::vector<int32_t> nearest_codes_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_LEARNED_ROUNDING_H_
