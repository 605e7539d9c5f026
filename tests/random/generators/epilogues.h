// The epilogues of lowered ops, and the codes that they read and write.

#ifndef FIXPOINT_TESTS_RANDOM_GENERATORS_EPILOGUES_H_
#define FIXPOINT_TESTS_RANDOM_GENERATORS_EPILOGUES_H_

#include <cstdint>
#include <string>

#include "ops/dims.h"
#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

// A kind of codes.
struct Coding {
  VarType::Type dtype = VarType::INT8;
  int low = -127;
  int high = 127;
  int zero_point = 0;
};

// A coding with 2 to 8 bits, mostly 8; signed or unsigned; `may_be_affine`: with a zero point in
// half of the cases.
Coding SomeCoding(CaseMaker& c, bool may_be_affine);
// Signed, as weights are.
Coding SomeWeightCoding(CaseMaker& c);

// The inputs `Scales`, of all channels or, where it may, one, and `Bias`, in text to stand after
// another input. Sums of `taps` products come to a few units as a rule; scales that are powers of
// two make ties.
std::string SomeScales(CaseMaker& c, int64_t channels, int64_t taps, bool may_be_one = true);

struct SomeEpilogue {
  std::string operands;    // "" or ", Operands=[...]"
  std::string attributes;  // after others: ", epilogue=[...], ..."
};

// What is done with values of `dims`, with channels along `axis`, and how they are stored: as
// numbers, as codes or as codes with a zero point.
SomeEpilogue DrawEpilogue(CaseMaker& c, const Dims& dims, int axis);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_GENERATORS_EPILOGUES_H_
