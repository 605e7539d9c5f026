// A quantizer as a page of text (docs/quantizer_text.md): its settings and states, and what it
// computes, as ops.

#ifndef FIXPOINT_OPS_QUANTIZERS_QUANTIZER_TEXT_H_
#define FIXPOINT_OPS_QUANTIZERS_QUANTIZER_TEXT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct QuantizerText {
  struct State {
    // One number, or one for each range or for each element of the value.
    enum class Extent { kOne, kRanges, kElements };
    std::string name;
    int line = 0;
    Extent extent = Extent::kOne;
    bool is_trained = false;
    std::optional<double> initial_value;  // where the declaration says one; else 0
  };
  // The ops of a section, in order, with their lines.
  struct Section {
    std::vector<OpDesc> ops;
    std::vector<int> lines;
  };

  std::string file;
  std::string name;
  std::string doc;
  int line = 0;
  std::vector<QuantizerParameter> settings;
  std::vector<int> setting_lines;
  std::vector<State> states;
  Section initial;    // from the value to states, in the first step
  Section forward;    // from the value and states to Quantizer::kResult
  Section surrogate;  // the same, where the gradient is derived from it; empty: from forward
  Section gradient;   // to the gradients of the value and the trained states; empty: derived
  Section update;     // from those to the states; empty: gradient descent

  // Whether a setting, a state or an op on that line is one of the text that this one builds on.
  bool IsOfBase(int of_line) const { return of_line == line; }

  // The bits that a spec may ask for.
  int least_bits = kLeastBits;
  int most_bits = kMostBits;
  // Whether it can have a range for each channel: its range is found for what shares one; and
  // whether it has to: groups are those of a channel's inputs.
  bool can_be_per_channel = false;
  bool is_per_channel = false;
  const State* FindState(absl::string_view name) const;
  // "file:line: message".
  absl::Status Error(int line, absl::string_view message) const;
};

// The op of the forward section that quantizes.
const OpDesc& QuantizeOpOf(const QuantizerText& text);

// Finds the text of a name; null if there is none.
using FindQuantizerText = std::function<const QuantizerText*(absl::string_view)>;

// Reads a file of quantizers. One that builds on another, an earlier one of the file or else what
// `find` gives, has its settings, states and sections; a forward section of its own comes without
// the other's surrogate and gradient. What a formula computes is not checked. Errors
// (kInvalidArgument), with file and line: the grammar; an op that ReadFormulaOp (formula_words.h)
// refuses; a name that is given twice or reserved, or that there is not; the last op of the forward
// section, and no other, has to quantize, and none of the surrogate. What is wrong with an op of
// another text is reported with the line of the quantizer.
absl::StatusOr<std::vector<QuantizerText>> ParseQuantizerTexts(absl::string_view text,
                                                               absl::string_view file_name,
                                                               const FindQuantizerText& find);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_QUANTIZER_TEXT_H_
