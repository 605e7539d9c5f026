#include "transpiler/undo/undo_by_marks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/verifier.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "transpiler/composites/component_parameters.h"
#include "transpiler/pipeline/marks.h"

namespace fixpoint {
namespace {

constexpr char kNoWayBack[] = "; a frozen program has no way back, undo the one it was made of";

// "Input.0=x" or "X.3+"; for an attribute "with_quant_attr=false" or "quantization_type+".
struct Change {
  absl::string_view slot;  // or the attribute
  int index = 0;
  bool is_attribute = false;
  bool added = false;
  absl::string_view original;
};

bool ParseChange(absl::string_view text, Change& change) {
  const size_t end = text.find_first_of("=+");
  if (end == absl::string_view::npos) return false;
  change.added = text[end] == '+';
  change.original = text.substr(end + 1);
  const absl::string_view place = text.substr(0, end);
  const size_t dot = place.rfind('.');
  change.is_attribute = dot == absl::string_view::npos;
  if (change.is_attribute) {
    change.slot = place;
    return !place.empty();
  }
  change.slot = place.substr(0, dot);
  return absl::SimpleAtoi(place.substr(dot + 1), &change.index) && change.index >= 0;
}

// Whether the mark fits the op's current attribute.
bool RestoreAttribute(const Op& op, const Change& change, Rewriter& rewriter) {
  const OpDesc::Attr* attr = op.FindAttr(change.slot);
  if (attr != nullptr && (attr->type() == AttrType::BLOCK || attr->type() == AttrType::BLOCKS)) {
    return false;
  }
  if (change.added) {
    if (attr != nullptr) rewriter.RemoveAttr(op, change.slot);
    return true;
  }
  // If a tool has dropped the attribute, there is nothing to restore.
  if (attr == nullptr) return true;
  std::optional<OpDesc::Attr> original = AttributeOfMark(change.slot, change.original);
  if (original.has_value()) rewriter.SetAttr(op, *std::move(original));
  return original.has_value();
}

absl::Status RestoreOp(const Program& program, const Op& op, Rewriter& rewriter) {
  const auto misfit = [&op](absl::string_view mark) {
    return absl::InvalidArgumentError(absl::StrCat(Describe(op), ": the mark \"", mark, "\" of ",
                                                   kRewiredAttr, " does not fit the op"));
  };
  const std::vector<std::string> marks = *StringsAttr(op.desc(), kRewiredAttr);
  // Added arguments are removed from the end of their slots.
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
    Change change;
    if (!ParseChange(*mark, change)) return misfit(*mark);
    if (change.is_attribute) {
      if (!RestoreAttribute(op, change, rewriter)) return misfit(*mark);
      continue;
    }
    const auto inputs = op.Inputs(change.slot);
    const auto outputs = op.Outputs(change.slot);
    const auto& arguments = inputs.empty() ? outputs : inputs;
    if (change.index >= static_cast<int>(arguments.size())) return misfit(*mark);
    if (change.added) {
      if (change.index + 1 != static_cast<int>(arguments.size())) return misfit(*mark);
      rewriter.RemoveLastArgument(op, !inputs.empty(), change.slot);
    } else if (change.original != kEmptyArgument &&
               program.Find(op.block(), change.original) == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat(Describe(op), ": the mark \"", *mark, "\" of ", kRewiredAttr,
                       " names a variable that the program no longer has", kNoWayBack));
    } else {
      rewriter.SetArgument(*arguments[change.index], change.original);
    }
  }
  rewriter.RemoveAttr(op, kRewiredAttr);
  return absl::OkStatus();
}

bool RunsBlocks(const OpDesc& op) {
  return std::any_of(op.attrs().begin(), op.attrs().end(), [](const OpDesc::Attr& attr) {
    return attr.type() == AttrType::BLOCK || attr.type() == AttrType::BLOCKS;
  });
}

// Inserts the ops that an inserted op stands in place of before it.
absl::Status RestoreReplaced(const Op& op, Rewriter& rewriter) {
  const auto lines = StringsAttr(op.desc(), kReplacesAttr).value_or(std::vector<std::string>());
  for (const std::string& line : lines) {
    absl::StatusOr<ProgramPart> part = ParseProgramPart(line, kReplacesAttr, 1);
    if (!part.ok() || part->block.ops_size() != 1 || RunsBlocks(part->block.ops(0))) {
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(op), ": the mark \"", line, "\" of ", kReplacesAttr, " is no op"));
    }
    rewriter.InsertBefore(op, part->block.ops(0));
  }
  return absl::OkStatus();
}

// The component whose parameters a composite has that was given back; "" for any other op.
absl::string_view RaisedComponent(const Op& op) {
  for (const OpDesc::Attr& attr : op.desc().attrs()) {
    if (absl::StartsWith(attr.name(), kComponentAttrPrefix)) {
      return absl::StripPrefix(attr.name(), kComponentAttrPrefix);
    }
  }
  return "";
}

// Error (kFailedPrecondition): an op that stays reads what only removed ops wrote.
absl::Status CheckReaders(const Variable& variable) {
  const Argument* reader = nullptr;
  for (const Argument* argument : variable.arguments()) {
    if (argument->is_output()) return absl::OkStatus();
    if (reader == nullptr) reader = argument;
  }
  if (reader == nullptr || variable.persistable()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Describe(reader->op()), ": reads \"", variable.name(),
      "\", which Fixpoint's ops compute, and has no mark of what it read before", kNoWayBack));
}

// Error (kFailedPrecondition): the restored program is wrong. Attributes get their old values,
// whatever the types of those were.
absl::Status CheckUndone(const Program& program) {
  for (const Finding& finding : Verify(program)) {
    if (finding.severity != Severity::kError || finding.code == FindingCode::kAttrType) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the program was edited since it was rewritten, or was wrong before, and what its marks "
        "lead back to is wrong: ",
        finding.op != nullptr ? Describe(*finding.op)
                              : absl::StrCat("block ", finding.block->index()),
        ": ", finding.message));
  }
  return absl::OkStatus();
}

absl::Status Undo(Program* program) {
  if (!HasMarks(*program)) {
    return absl::FailedPreconditionError(
        "there is nothing to undo: the program has neither an edit log nor marks of Fixpoint");
  }
  Rewriter rewriter(program, "undo_by_marks");
  std::vector<const Variable*> written;
  std::vector<const Variable*> unused;
  for (const Op& op : program->ops()) {
    if (const std::optional<std::string> pattern = StringAttr(op.desc(), kRewrittenByAttr)) {
      return absl::FailedPreconditionError(
          absl::StrCat(Describe(op), ": stands in place of ops that the pattern ", *pattern,
                       " replaced, and the edit log that has them is gone"));
    }
    if (const absl::string_view component = RaisedComponent(op); !component.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(Describe(op), ": was given back in place of components, of which ",
                       component, " was quantized, and the edit log that has their ops is gone"));
    }
    if (op.FindAttr(kInsertedByAttr) != nullptr) {
      for (const Argument* output : op.outputs()) {
        if (output->variable() != nullptr) written.push_back(output->variable());
      }
      for (const Argument* input : op.inputs()) {
        if (input->variable() != nullptr) unused.push_back(input->variable());
      }
      RETURN_IF_ERROR(RestoreReplaced(op, rewriter));
      rewriter.Remove(op);
    } else if (StringsAttr(op.desc(), kRewiredAttr).has_value()) {
      RETURN_IF_ERROR(RestoreOp(*program, op, rewriter));
    }
  }
  for (const Variable* variable : written) RETURN_IF_ERROR(CheckReaders(*variable));
  unused.insert(unused.end(), written.begin(), written.end());
  // Variables that only the removed ops wrote or read were theirs.
  for (const Variable* variable : unused) {
    if (!variable->removed() && variable->desc() != nullptr && !variable->is_used()) {
      rewriter.Remove(*variable);
    }
  }
  return CheckUndone(*program);
}

}  // namespace

bool HasMarks(const Program& program) {
  for (const Op& op : program.ops()) {
    if (op.FindAttr(kInsertedByAttr) != nullptr) return true;
    if (op.FindAttr(kRewrittenByAttr) != nullptr || !RaisedComponent(op).empty()) return true;
    if (StringsAttr(op.desc(), kRewiredAttr).has_value()) return true;
  }
  return false;
}

absl::Status UndoByMarks(Program* program) {
  program->ForgetEdits();
  const absl::Status status = Undo(program);
  if (status.ok()) {
    program->ForgetEdits();
    return status;
  }
  program->RevertEdits();
  return absl::Status(status.code(),
                      absl::StrCat(program->name(), ": ", std::string(status.message())));
}

}  // namespace fixpoint
