// Slightly damaged files: as bytes, and as text by lines and words.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_BYTES_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_BYTES_H_

#include <cstdint>
#include <string>

#include "tests/testing/random_program.h"

namespace fixpoint {

// Small numbers, numbers at the ends of the integer types, and numbers beside powers of two.
int64_t OddInteger(Random* random);
// Likewise, with infinities, NaN, zeros of both signs and tiny numbers.
double OddNumber(Random* random);

// `bytes` with one to four changes: bits turned, ranges removed, repeated, overwritten or copied
// elsewhere, the end cut off, a varint that does not end.
std::string MutatedBytes(std::string bytes, Random* random);

// `text` with one to four changes: lines removed, repeated or exchanged, words exchanged for other
// words of the text, numbers for odd ones, single characters for others.
std::string MutatedText(std::string text, Random* random);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_BYTES_H_
