// Which integers are codes, and how floats are rounded to them.

#ifndef FIXPOINT_OPS_CODE_RANGE_H_
#define FIXPOINT_OPS_CODE_RANGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {

// How many bits codes have. The only code of one bit is 0: ops compute it, and no spec asks for it.
inline constexpr int kLeastBits = 2;
inline constexpr int kLeastBitsOfOps = 1;
inline constexpr int kMostBits = 16;

constexpr bool AreBits(int64_t bits, int least_bits = kLeastBits) {
  return bits >= least_bits && bits <= kMostBits;
}
// Error (kInvalidArgument): the bits that an attribute says are not `least_bits` to kMostBits.
absl::Status CheckBits(absl::string_view attribute, int64_t bits, int least_bits = kLeastBits);

// The largest code of `bits` signed bits: 127 for 8. REQUIRES: 1 <= bits <= 31.
constexpr int32_t LargestCode(int bits) { return (int32_t{1} << (bits - 1)) - 1; }

// The reference's bit_length of a spec: unsigned codes of b bits (0 to 2^b - 1) are the
// non-negative ones of b + 1 signed bits.
inline int BitLength(const QuantSpec& spec) {
  return spec.bits() + (spec.signedness() == QuantSpec::UNSIGNED ? 1 : 0);
}

struct CodeRange {
  int bits = 8;  // with the sign
  bool is_unsigned = false;
  int32_t smallest = -128;
  int32_t largest = 127;
  QuantSpec::Rounding rounding = QuantSpec::HALF_TO_EVEN;

  friend bool operator==(const CodeRange& a, const CodeRange& b) {
    return a.bits == b.bits && a.is_unsigned == b.is_unsigned && a.smallest == b.smallest &&
           a.largest == b.largest && a.rounding == b.rounding;
  }
};

// The codes of symmetric ops with this bit_length: all of that many signed bits, except the
// smallest where ties round away from zero. REQUIRES: 1 <= bit_length <= 31.
inline CodeRange SymmetricCodes(int bit_length, QuantSpec::Rounding rounding) {
  const int32_t largest = LargestCode(bit_length);
  const bool has_all = rounding == QuantSpec::HALF_TO_EVEN;
  return {bit_length, false, has_all ? -largest - 1 : -largest, largest, rounding};
}

// The part of `codes` that floats which are never negative use: how the reference expresses
// unsigned codes with one bit less.
inline CodeRange UnsignedPartOf(CodeRange codes) {
  return {codes.bits - 1, true, 0, codes.largest, codes.rounding};
}

// The codes of affine ops: all of that many bits. REQUIRES: AreBits(bits, kLeastBitsOfOps).
constexpr CodeRange AffineCodes(int bits, bool is_unsigned, QuantSpec::Rounding rounding) {
  const int32_t count = int32_t{1} << bits;
  const int32_t smallest = is_unsigned ? 0 : -count / 2;
  return {bits, is_unsigned, smallest, smallest + count - 1, rounding};
}

// All that a byte holds: an INT8 or a UINT8.
constexpr CodeRange CodesOfByte(bool is_unsigned) {
  return AffineCodes(8, is_unsigned, QuantSpec::HALF_TO_EVEN);
}
constexpr bool FitByte(const CodeRange& codes) { return codes.bits <= CodesOfByte(true).bits; }

// How many codes a byte holds, half of which are negative if they are signed.
inline constexpr int32_t kCodesInByte = CodesOfByte(true).largest + 1;

// Whether a number, of whatever type, is one of the codes, as a zero point has to be.
template <typename Number>
constexpr bool IsCode(Number number, const CodeRange& codes) {
  return number >= codes.smallest && number <= codes.largest &&
         number == static_cast<Number>(static_cast<int32_t>(number));
}

// The codes that the ops of a spec make. REQUIRES: the spec says its bits, signedness, scheme and
// rounding.
inline CodeRange CodeRangeOf(const QuantSpec& spec) {
  if (spec.scheme() == QuantSpec::SYMMETRIC) {
    return SymmetricCodes(BitLength(spec), spec.rounding());
  }
  return AffineCodes(spec.bits(), spec.signedness() == QuantSpec::UNSIGNED, spec.rounding());
}

// What an op's attribute round_type says: 0 half to even, 1 half away from zero.
constexpr int32_t RoundTypeOf(QuantSpec::Rounding rounding) {
  return rounding == QuantSpec::HALF_TO_EVEN ? 0 : 1;
}
// Error (kInvalidArgument): it is neither 0 nor 1.
absl::StatusOr<QuantSpec::Rounding> RoundingOfType(int32_t round_type);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODE_RANGE_H_
