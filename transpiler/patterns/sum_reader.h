// Sums of a pattern from their text.

#ifndef FIXPOINT_TRANSPILER_PATTERNS_SUM_READER_H_
#define FIXPOINT_TRANSPILER_PATTERNS_SUM_READER_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/text/text_scanner.h"
#include "proto/wire/program.pb.h"
#include "transpiler/patterns/pattern_sum.h"

namespace fixpoint {

// More than anybody writes.
inline constexpr int kMostTerms = 64;

// What a sum may name. Positions are those in Pattern::variables and Pattern::values.
struct SumNames {
  struct Attribute {
    int variable = -1;
    AttrType type = AttrType::INT;
  };
  // Of "$c"; nothing if no attribute of `before` is that.
  std::function<std::optional<Attribute>(absl::string_view name)> attribute;
  // Of a value of `before`; nothing if it has none of that name.
  std::function<std::optional<int>(absl::string_view name)> value;
};

// "a number", "a string" or "a boolean".
const char* TypeOfTerm(SumTerm::Type type);

// The text between two places, on one line and without comments.
std::string TextBetween(absl::string_view text, size_t start, size_t end);

// Reads a sum where the scanner, which goes through `text`, stands. False after it noted an error:
// what is no sum, has more than kMostTerms, names what `before` does not have or an attribute that
// is a list; arithmetic of what is no number; a remainder of what is no integer.
bool ReadSum(absl::string_view text, const SumNames& names, TextScanner* scanner, PatternSum* sum);

// A sum that is all of a text. Error (kInvalidArgument): `place`, then the first of those above.
absl::StatusOr<PatternSum> ParseSum(absl::string_view text, absl::string_view place,
                                    const SumNames& names);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PATTERNS_SUM_READER_H_
