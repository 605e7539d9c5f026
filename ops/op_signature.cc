#include "ops/op_signature.h"

#include <glog/logging.h>

#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace fixpoint {
namespace {

std::vector<OpSignature::Slot> ParseSlots(absl::string_view text) {
  std::vector<OpSignature::Slot> slots;
  for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    item = absl::StripAsciiWhitespace(item);
    OpSignature::Slot slot;
    slot.eras = ConsumeEras(&item);
    slot.optional = absl::ConsumeSuffix(&item, "?");
    slot.list = absl::ConsumeSuffix(&item, "*");
    slot.shape_only = absl::ConsumeSuffix(&item, "#");
    const std::vector<std::string> names = absl::StrSplit(item, '=');
    slot.name = names.front();
    slot.source = names.back();
    slots.push_back(std::move(slot));
  }
  return slots;
}

}  // namespace

Eras ConsumeEras(absl::string_view* text) {
  if (absl::ConsumeSuffix(text, "@1")) return Eras::kFluid;
  if (absl::ConsumeSuffix(text, "@2")) return Eras::kPaddle2;
  return Eras::kAll;
}

OpSignature ParseOpSignature(absl::string_view text) {
  const size_t open = text.find('(');
  const size_t arrow = text.find(") -> (");
  CHECK(open != absl::string_view::npos && arrow != absl::string_view::npos &&
        absl::EndsWith(text, ")"))
      << text;
  OpSignature signature;
  signature.type = std::string(text.substr(0, open));
  signature.inputs = ParseSlots(text.substr(open + 1, arrow - open - 1));
  text = text.substr(arrow + 6);
  signature.outputs = ParseSlots(text.substr(0, text.size() - 1));
  return signature;
}

std::vector<SlotSchema> SlotsOf(const std::vector<OpSignature::Slot>& parsed) {
  std::vector<SlotSchema> slots;
  slots.reserve(parsed.size());
  for (const OpSignature::Slot& slot : parsed) {
    slots.push_back({slot.name, slot.list, slot.optional, slot.shape_only, slot.eras});
  }
  return slots;
}

}  // namespace fixpoint
