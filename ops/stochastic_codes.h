// Stochastic rounding: a number between two codes gets one of them, the nearer one with the higher
// probability, so that its mean stays (Gupta et al. 2015, arXiv 1502.02551).

#ifndef FIXPOINT_OPS_STOCHASTIC_CODES_H_
#define FIXPOINT_OPS_STOCHASTIC_CODES_H_

namespace fixpoint {

inline constexpr char kQuantizeStochastically[] = "fake_quantize_dequantize_stochastic_abs_max";

// The bits of the numbers that decide.
inline constexpr int kBitsOfChance = 16;

// What is that many codes away from 0 gets the code below it or the one above: `chance` is uniform
// in [0, 2^16), of which each stands for the middle of its part. A NaN gives NaN. The clamp is for
// roundings: a range stands for its largest code.
inline float StochasticCode(float codes, float chance, float largest) {
  float code = __builtin_floorf(codes + (chance + 0.5f) * 0x1p-16f);
  code = code > largest ? largest : code;
  return code < -largest ? -largest : code;
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_STOCHASTIC_CODES_H_
