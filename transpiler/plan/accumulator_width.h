// How many products of codes an accumulator of a width adds up.

#ifndef FIXPOINT_TRANSPILER_PLAN_ACCUMULATOR_WIDTH_H_
#define FIXPOINT_TRANSPILER_PLAN_ACCUMULATOR_WIDTH_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "ops/code_range.h"
#include "ops/quantizer.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {

// What a target may say in accumulator_bits.
inline constexpr int kLeastAccumulatorBits = 16;
inline constexpr int kMostAccumulatorBits = 64;

// The largest magnitude of a code, less its zero point if it may have one. REQUIRES: that of
// CodeRangeOf.
inline int64_t LargestMagnitude(const QuantSpec& spec) {
  const CodeRange codes = CodeRangeOf(spec);
  if (spec.scheme() == QuantSpec::AFFINE) return int64_t{codes.largest} - codes.smallest;
  if (spec.signedness() == QuantSpec::UNSIGNED) return codes.largest;
  return std::max<int64_t>(codes.largest, -codes.smallest);
}

// The spec of the codes that the ops of a spec store, which may lack a scheme; nothing where its
// quantizer does not have such bits.
inline std::optional<QuantSpec> FindStoredSpec(QuantSpec spec, const QuantizerTable& quantizers) {
  const Quantizer* const quantizer = quantizers.Find(spec.quantizer());
  if (quantizer == nullptr || spec.bits() < quantizer->least_bits() ||
      spec.bits() > quantizer->most_bits()) {
    return std::nullopt;
  }
  spec.set_scheme(quantizer->scheme());
  spec = StoredSpec(*quantizer, std::move(spec));
  return AreBits(spec.bits()) ? std::optional(spec) : std::nullopt;
}

// How many products of two codes, whatever they are, add up in a signed integer of so many bits.
// REQUIRES: that of CodeRangeOf of both; kLeastAccumulatorBits <= accumulator_bits <=
// kMostAccumulatorBits.
inline int64_t MostProducts(int accumulator_bits, const QuantSpec& activation,
                            const QuantSpec& weight) {
  const int64_t largest_sum = INT64_MAX >> (kMostAccumulatorBits - accumulator_bits);
  return largest_sum / (LargestMagnitude(activation) * LargestMagnitude(weight));
}

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_ACCUMULATOR_WIDTH_H_
