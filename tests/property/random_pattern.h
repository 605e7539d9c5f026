// Random patterns that are identities: what they match and what they write compute the same.

#ifndef FIXPOINT_TESTS_PROPERTY_RANDOM_PATTERN_H_
#define FIXPOINT_TESTS_PROPERTY_RANDOM_PATTERN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/testing/random_program.h"
#include "transpiler/patterns/pattern.h"

namespace fixpoint {

struct RandomPattern {
  std::string text;
  // None if the text is refused because its `before` matches its `after`.
  std::vector<Pattern> patterns;
};

// One to three identities one after the other, in either direction: over tensors of FP32 with these
// dims, whose last two differ. Captures may have one name, and var lines and conditions say what
// holds for such tensors. A "$a" stands for kFactorOfPatterns. Error: the text is refused
// otherwise.
absl::StatusOr<RandomPattern> MakeRandomPattern(const std::string& name,
                                                const std::vector<int64_t>& dims, Random& random);

inline constexpr float kFactorOfPatterns = 0.5f;

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_PROPERTY_RANDOM_PATTERN_H_
