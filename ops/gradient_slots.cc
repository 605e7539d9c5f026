#include "ops/gradient_slots.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/program/op.h"

namespace fixpoint {

const GradientSchema* FindGradientSchema(const OpSchema& forward, absl::string_view gradient_type,
                                         Era era) {
  const GradientSchema* found = nullptr;
  for (const GradientSchema& gradient : forward.gradients()) {
    if (gradient.type != gradient_type) continue;
    if (Includes(gradient.eras, era)) return &gradient;
    if (found == nullptr) found = &gradient;
  }
  return found;
}

std::vector<RepeatedSlot> RepeatedSlots(absl::string_view gradient_type, const OpDesc& forward,
                                        Era era) {
  std::vector<RepeatedSlot> slots;
  const auto add = [&slots](absl::string_view name, absl::string_view source, bool is_output) {
    if (std::none_of(slots.begin(), slots.end(),
                     [name](const RepeatedSlot& slot) { return slot.name == name; })) {
      slots.push_back({name, source, is_output});
    }
  };
  const OpSchema* const schema = FindOpSchema(forward.type());
  const GradientSchema* const made =
      schema == nullptr ? nullptr : FindGradientSchema(*schema, gradient_type, era);
  for (int pass = 0; made != nullptr && pass < 2; ++pass) {
    for (const GradientSchema::Slot& slot : made->inputs) {
      // A slot may be written down for each era; files mix them.
      if (slot.is_gradient || Includes(slot.eras, era) != (pass == 0)) continue;
      add(slot.name, slot.source, slot.source_is_output);
    }
  }
  if (schema != nullptr) {
    for (const SlotSchema& slot : schema->inputs()) add(slot.name, slot.name, /*is_output=*/false);
    for (const SlotSchema& slot : schema->outputs()) add(slot.name, slot.name, /*is_output=*/true);
  } else {
    for (const OpDesc::Var& slot : forward.inputs())
      add(slot.parameter(), slot.parameter(), /*is_output=*/false);
    for (const OpDesc::Var& slot : forward.outputs())
      add(slot.parameter(), slot.parameter(), /*is_output=*/true);
  }
  return slots;
}

absl::Span<const Argument* const> SourceOf(const RepeatedSlot& slot, const Op& forward) {
  return slot.source_is_output ? forward.Outputs(slot.source) : forward.Inputs(slot.source);
}

std::string GradientName(absl::string_view variable) {
  return absl::StrCat(variable, kGradientSuffix);
}

absl::string_view WithoutGradientSuffix(absl::string_view gradient) {
  return gradient.substr(0, gradient.find(kGradientSuffix));
}

}  // namespace fixpoint
