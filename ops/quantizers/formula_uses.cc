#include "ops/quantizers/formula_uses.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "ops/power_of_two_range.h"
#include "ops/quantizers/formula_groups.h"
#include "ops/quantizers/formula_links.h"
#include "ops/written_op.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

using Names = absl::flat_hash_set<std::string>;

Names StatesOf(const QuantizerText& text) {
  Names names;
  for (const QuantizerText::State& state : text.states) names.insert(state.name);
  return names;
}

Names GradientsOf(const QuantizerText& text) {
  Names names = {Quantizer::kValueGradient};
  for (const QuantizerText::State& state : text.states) {
    if (state.is_trained) names.insert(absl::StrCat(state.name, kGradientSuffix));
  }
  return names;
}

absl::Status CheckWritesStates(const QuantizerText& text, const QuantizerText::Section& section,
                               absl::string_view name) {
  if (section.ops.empty()) return absl::OkStatus();
  const Names states = StatesOf(text);
  const Names written = NamesWrittenBy(section.ops);
  if (std::any_of(written.begin(), written.end(),
                  [&states](const std::string& output) { return states.contains(output); })) {
    return absl::OkStatus();
  }
  return text.Error(section.lines.front(),
                    absl::StrCat(name, ": writes no state; write one, or leave the section out"));
}

// `wanted`: what the section is there to write, and what other sections read of it.
absl::Status CheckResultsAreRead(const QuantizerText& text, const QuantizerText::Section& section,
                                 Names wanted) {
  for (size_t i = section.ops.size(); i-- > 0;) {
    const OpDesc& op = section.ops[i];
    bool is_wanted = false;
    ForEachOutput(op, [&](const std::string& name) { is_wanted |= wanted.contains(name); });
    if (!is_wanted && !text.IsOfBase(section.lines[i])) {
      return text.Error(section.lines[i], absl::StrCat("nothing reads \"", ResultOf(op),
                                                       "\"; leave the op out, or read it"));
    }
    ForEachInput(op, [&wanted](const std::string& name) { wanted.insert(name); });
  }
  return absl::OkStatus();
}

bool ReadsSetting(const OpDesc& op, const std::string& name) {
  if (name == kGroupSize && op.type() == kSplitGroups) return true;
  bool reads = false;
  ForEachInput(op, [&](const std::string& input) { reads |= input == name; });
  return reads || std::any_of(op.attrs().begin(), op.attrs().end(), [&](const OpDesc::Attr& attr) {
           return StandsForNumber(attr) &&
                  (attr.s().substr(1) == name ||
                   absl::StartsWith(attr.s(), absl::StrCat("$", name, "+")));
         });
}

absl::Status CheckSettingsAreRead(const QuantizerText& text) {
  for (size_t i = 0; i < text.settings.size(); ++i) {
    const std::string& name = text.settings[i].name;
    // The planner reads this one.
    if (name == kPowerOfTwoStepsAttr || text.IsOfBase(text.setting_lines[i])) continue;
    const auto reads = [&name](const QuantizerText::Section& section) {
      return std::any_of(section.ops.begin(), section.ops.end(),
                         [&name](const OpDesc& op) { return ReadsSetting(op, name); });
    };
    if (reads(text.initial) || reads(text.forward) || reads(text.surrogate) ||
        reads(text.gradient) || reads(text.update)) {
      continue;
    }
    return text.Error(text.setting_lines[i],
                      absl::StrCat(name, ": no op reads the setting; leave it out, or read it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckUses(const QuantizerText& text) {
  RETURN_IF_ERROR(CheckWritesStates(text, text.initial, "initial"));
  RETURN_IF_ERROR(CheckWritesStates(text, text.update, "update"));
  RETURN_IF_ERROR(CheckSettingsAreRead(text));
  Names of_forward = NamesReadBy(text.gradient.ops);
  of_forward.insert(Quantizer::kResult);
  RETURN_IF_ERROR(CheckResultsAreRead(text, text.initial, StatesOf(text)));
  RETURN_IF_ERROR(CheckResultsAreRead(text, text.forward, std::move(of_forward)));
  RETURN_IF_ERROR(CheckResultsAreRead(text, text.surrogate, {Quantizer::kResult}));
  RETURN_IF_ERROR(CheckResultsAreRead(text, text.gradient, GradientsOf(text)));
  return CheckResultsAreRead(text, text.update, StatesOf(text));
}

}  // namespace fixpoint
