#include "ops/quantizers/formula_states.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/quantizers/formula_links.h"
#include "ops/quantizers/formula_words.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

bool Writes(const QuantizerText::Section& section, const std::string& name) {
  return NamesWrittenBy(section.ops).contains(name);
}

bool IsRange(const QuantizerText& text, const std::string& name) {
  const std::vector<OpDesc> ops = OpsWithoutWords(text.forward.ops);
  const auto quantize = std::find_if(ops.begin(), ops.end(), QuantizesFormula);
  return quantize != ops.end() && NameInSlot(*quantize, kScaleSlot) == name;
}

absl::Status CheckState(const QuantizerText& text, const QuantizerText::State& state) {
  const auto wrong = [&](absl::string_view message) {
    return text.Error(state.line, absl::StrCat(state.name, ": ", message));
  };
  const auto is_read = [&state](const QuantizerText::Section& section) {
    return NamesReadBy(section.ops).contains(state.name);
  };
  if (!is_read(text.initial) && !is_read(text.forward) && !is_read(text.surrogate) &&
      !is_read(text.gradient) && !is_read(text.update)) {
    if (text.IsOfBase(state.line)) return absl::OkStatus();
    return wrong("no op reads the state; leave it out, or read it");
  }
  if (Writes(text.initial, state.name)) return absl::OkStatus();
  if (state.is_trained && !state.initial_value.has_value()) {
    return wrong(
        "it is trained and has no first value; give it by initial=NUMBER, or by an op of initial:");
  }
  const bool stays = !state.is_trained && !Writes(text.update, state.name);
  if (stays && !state.initial_value.has_value()) {
    return wrong(
        "it is 0 in every step; give its first value by initial=NUMBER or by an op of initial:, or "
        "write it in update:");
  }
  const double first = state.initial_value.value_or(0);
  if ((stays || state.is_trained) && IsRange(text, state.name) && first <= 0) {
    return wrong(absl::StrCat("its first value is ", first, ", and a range is above 0"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStates(const QuantizerText& text) {
  for (const QuantizerText::State& state : text.states) {
    RETURN_IF_ERROR(CheckState(text, state));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
