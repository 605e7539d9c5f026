// Which range of a value is quantized, given how it is distributed. Each rule is a function of a
// histogram, so that one profile gives the ranges of all rules, numbers of bits and schemes.
//
// Ranges are those of a profile's entry: a symmetric quantizer takes the larger end's magnitude,
// an affine one widens the range to 0.

#ifndef FIXPOINT_RUNTIME_STATISTICS_RANGE_RULES_H_
#define FIXPOINT_RUNTIME_STATISTICS_RANGE_RULES_H_

#include "ops/code_range.h"
#include "proto/config/quant_spec.pb.h"
#include "runtime/statistics/bit_histogram.h"

namespace fixpoint {

struct ValueRange {
  float min = 0;
  float max = 0;

  friend bool operator==(const ValueRange& a, const ValueRange& b) {
    return a.min == b.min && a.max == b.max;
  }
};

// How values in a range become codes.
struct RangeCoding {
  CodeRange codes;
  QuantSpec::Scheme scheme = QuantSpec::SYMMETRIC;
};
// REQUIRES: those of CodeRangeOf.
RangeCoding CodingOf(const QuantSpec& spec);

// All rules: of a histogram without values, or of zeros alone, the range is 0 to 0; that of a
// constant holds it and 0, so that it has a code.

// From the smallest value to the largest: nothing is clipped.
ValueRange MinMaxRange(const BitHistogram& values);

// At least `percent` of 100 values are in the range: by magnitude if the range is symmetric;
// otherwise half of the others may be above it, and half of them below. As pytorch-quantization's
// and ONNX Runtime's percentile calibrators, whose defaults are 99.99 and 99.999. A range ends at
// the upper end of a bin, so that up to 1/32 more than the percentile. REQUIRES: 0 < percent <=
// 100.
ValueRange PercentileRange(const BitHistogram& values, QuantSpec::Scheme scheme, double percent);

// The range with the least mean squared error of the values that codes stand for, clipped ones
// included: of 400 ends, max (k / 400)^2 for k = 1, ..., 400; if several are best, of the widest.
// An affine range with two ends begins with the best of 32 x 32 such pairs; then each end is chosen
// in turn until neither changes.
ValueRange MseRange(const BitHistogram& values, const RangeCoding& coding);

// The range whose codes change the distribution of magnitudes least, as S. Migacz, "8-bit inference
// with TensorRT" (GTC 2017, S7310): of 2048 bins, the first i for which the divergence of the
// clipped distribution, with what lies beyond in its last bin, from that of the codes, without it,
// is least; both ends of an affine range are clipped there. i goes from the number of codes of a
// sign to 2048; if the first of these is the best, the bins end at twice its place and are compared
// again, so that no outlier is too large. Zeros are left out: every range has a code for them, and
// where half of the values are zero, as after a relu, they would decide. Without enough bins for
// the codes (more than 11 bits), the whole range.
ValueRange KlRange(const BitHistogram& values, const RangeCoding& coding);

// The range of the values that are not beyond `threshold`, whose larger magnitude it is.
ValueRange RangeWithin(const BitHistogram& values, double threshold);

// By the rule of a spec, for values that become codes as `coding` says. REQUIRES: 0 <
// spec.percentile() <= 100; the rule is not MOVING_AVERAGE, which a histogram does not have.
ValueRange RangeByRule(const BitHistogram& values, const QuantSpec& spec,
                       const RangeCoding& coding);
// For those that become the codes of the spec. REQUIRES: also as CodingOf.
inline ValueRange RangeByRule(const BitHistogram& values, const QuantSpec& spec) {
  return RangeByRule(values, spec, CodingOf(spec));
}

// What quantizing to a range does to the values.
struct RangeError {
  double clipped = 0;       // the share of values outside the range
  double mean_squared = 0;  // of the difference between a value and what its code stands for
};
// As if the values of a bin were evenly spread: exact for constants.
RangeError FindRangeError(const BitHistogram& values, const ValueRange& range,
                          const RangeCoding& coding);
// In dB; infinite if nothing is lost.
double SignalToNoise(const BitHistogram& values, const RangeError& error);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_STATISTICS_RANGE_RULES_H_
