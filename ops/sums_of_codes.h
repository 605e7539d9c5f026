// Whether integers hold sums of codes and of products of codes: those of codes of 8 bits 32 bits,
// and those of products of wide codes (ops/code_dtype.h) 64.

#ifndef FIXPOINT_OPS_SUMS_OF_CODES_H_
#define FIXPOINT_OPS_SUMS_OF_CODES_H_

#include <cstdint>

#include "ops/bias_codes.h"
#include "ops/code_range.h"

namespace fixpoint {

// Whether a sum of `terms` terms fits in 32 bits, each of which is at most `largest_term`.
inline bool SumsFit(int64_t terms, int64_t largest_term) {
  return terms <= INT32_MAX / largest_term;
}

// The largest magnitude of a code of a byte: of a signed one, and of an unsigned one, which is also
// that of any code less its zero point.
constexpr int64_t kLargestSigned = -CodesOfByte(/*is_unsigned=*/false).smallest;
constexpr int64_t kLargestUnsigned = CodesOfByte(/*is_unsigned=*/true).largest;

// A sum of products of codes of activations with codes of weights, which have 8 bits each.
struct SumOfProducts {
  int64_t products = 0;
  bool is_unsigned = false;     // the activations
  bool has_zero_point = false;  // the activations
  bool has_bias = false;        // one of bias_codes.h
  bool has_weight_zero_points = false;

  // The largest magnitude of an activation less its zero point, and of its product with a weight.
  int64_t largest_activation() const {
    return is_unsigned || has_zero_point ? kLargestUnsigned : kLargestSigned;
  }
  int64_t largest_product() const {
    return largest_activation() * (has_weight_zero_points ? kLargestUnsigned : kLargestSigned);
  }
  // Without the bias.
  int64_t largest() const { return products * largest_product(); }
  // The largest magnitude of a bias that 32 bits hold together with it.
  int64_t largest_bias() const { return INT32_MAX - largest(); }
};

// Whether such a sum fits, whatever the codes are. Products with the activations' zero point are a
// sum of their own, which is taken off.
inline bool SumsFit(const SumOfProducts& sum) {
  if (sum.has_bias) return sum.products <= (kLargestBiasCode - 1) / sum.largest_product();
  return SumsFit(sum.products, (sum.has_zero_point ? 2 : 1) * sum.largest_product());
}

// The most products that are added up where a code is wide, of at most 2^30 each: a double, in
// which the interpreter adds, holds the sum too.
inline constexpr int64_t kMostWideProducts = int64_t{1} << 23;

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_SUMS_OF_CODES_H_
