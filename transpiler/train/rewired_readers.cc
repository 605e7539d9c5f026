#include "transpiler/train/rewired_readers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/forward_ops.h"
#include "ops/op_schema.h"
#include "ops/state_codes.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/captures.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {

absl::Status RewiredReaders::Redirect(const Site& site, const Variable& to) {
  std::vector<const Argument*> reads = site.readers;
  reads.insert(reads.end(), site.gradient_readers.begin(), site.gradient_readers.end());
  for (const Argument* read : reads) NoteRewired(*read, site);
  RETURN_IF_ERROR(rewriter_.RedirectReads(reads, to));
  for (const Argument* read : reads) Capture(*read, read->variable()->block(), to.name());
  return absl::OkStatus();
}

void RewiredReaders::SetStateBits(const Op& op, int bits) {
  SetAttrMarked(op, MakeIntAttr(kStateBitsAttr, bits), ChangeOf(op));
}

void RewiredReaders::Mark(bool with_reference_marks) {
  for (const Op* op : changed_) {
    Change& change = changes_[op];
    if (with_reference_marks && IsForward(*op) && op->sub_blocks().empty()) {
      // The reference has two passes: for products with a weight, and for ops without one.
      SetAttrMarked(*op,
                    MakeStringAttr("quantization_type",
                                   change.has_weight ? "qat_with_weight" : "qat_without_weight"),
                    change);
      if (!change.has_weight) {
        SetAttrMarked(*op, MakeIntAttr("activation_bits", change.activation_bits), change);
      }
      SetAttrMarked(*op, MakeBoolAttr("with_quant_attr", true), change);
    }
    // An earlier pass may have changed the op too.
    std::vector<std::string> marks =
        StringsAttr(op->desc(), kRewiredAttr).value_or(std::vector<std::string>());
    marks.insert(marks.end(), change.marks.begin(), change.marks.end());
    rewriter_.SetAttr(*op, MakeStringsAttr(kRewiredAttr, marks));
  }
}

RewiredReaders::Change& RewiredReaders::ChangeOf(const Op& op) {
  const auto [change, is_new] = changes_.try_emplace(&op);
  if (is_new) changed_.push_back(&op);
  return change->second;
}

void RewiredReaders::NoteRewired(const Argument& argument, const Site& site) {
  Change& change = ChangeOf(argument.op());
  change.marks.push_back(ArgumentMark(argument.slot_name(), argument.index(), argument.name()));
  if (site.role == SlotRole::WEIGHT) {
    change.has_weight = true;
  } else if (site.role == SlotRole::ACTIVATION) {
    change.activation_bits = site.spec.bits();
  }
}

void RewiredReaders::Capture(const Argument& reader, const Block& declaring,
                             const std::string& name) {
  const Block* block = &reader.op().block();
  while (block != &declaring && block->forward() != &declaring && block->owner() != nullptr) {
    const Op& owner = *block->owner();
    block = &owner.block();
    const absl::string_view slot = CaptureSlot(owner);
    if (slot.empty() || !captured_.emplace(&owner, name).second) continue;
    const auto note = [&](bool is_output, absl::string_view in_slot, absl::string_view argument) {
      const auto arguments = is_output ? owner.Outputs(in_slot) : owner.Inputs(in_slot);
      ChangeOf(owner).marks.push_back(
          AddedArgumentMark(in_slot, static_cast<int>(arguments.size())));
      if (is_output) {
        rewriter_.AddOutput(owner, in_slot, argument);
      } else {
        rewriter_.AddInput(owner, in_slot, argument);
      }
    };
    note(false, slot, name);
    // The gradients of captured variables are at the same positions.
    const std::string gradients = absl::StrCat(slot, kGradientSuffix);
    if (!owner.Outputs(gradients).empty()) note(true, gradients, kEmptyArgument);
  }
}

void RewiredReaders::SetAttrMarked(const Op& op, OpDesc::Attr attr, Change& change) {
  change.marks.push_back(AttributeMark(op, attr.name()));
  rewriter_.SetAttr(op, std::move(attr));
}

}  // namespace fixpoint
