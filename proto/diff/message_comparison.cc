#include "proto/diff/message_comparison.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "proto/text/text_lexemes.h"

namespace fixpoint {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::google::protobuf::UnknownFieldSet;
using Part = Difference::Part;
using Parts = std::vector<Part>;

constexpr char kAbsent[] = "absent";

std::string Bytes(const Message& message) { return message.SerializePartialAsString(); }

std::string Bytes(const UnknownFieldSet& fields) {
  std::string bytes;
  fields.SerializeToString(&bytes);
  return bytes;
}

std::string SizeText(const std::string& bytes) {
  return bytes.empty() ? kAbsent : absl::StrCat(bytes.size(), " bytes");
}

// Bytes that the text form cannot show in a readable way.
void CompareBytes(absl::string_view what, const std::string& a, const std::string& b,
                  Parts* parts) {
  if (a == b) return;
  const bool same_size = a.size() == b.size();
  parts->push_back({std::string(what), SizeText(a),
                    absl::StrCat(SizeText(b), same_size ? " with other contents" : "")});
}

// Walks two lists that are sorted by `name_of`, and calls `visit` with each pair of elements of
// one name; with null for what one of the lists does not have.
template <typename Element, typename NameOf, typename Visit>
void MergeByName(const std::vector<Element>& a, const std::vector<Element>& b, NameOf name_of,
                 Visit visit) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const Element* in_a = i < a.size() ? &a[i] : nullptr;
    const Element* in_b = j < b.size() ? &b[j] : nullptr;
    if (in_a != nullptr && in_b != nullptr) {
      const int order = name_of(*in_a).compare(name_of(*in_b));
      if (order < 0) in_b = nullptr;
      if (order > 0) in_a = nullptr;
    }
    visit(in_a, in_b);
    if (in_a != nullptr) ++i;
    if (in_b != nullptr) ++j;
  }
}

struct Slot {
  absl::string_view name;
  std::vector<const Argument*> arguments;
};

// The slots that are not empty, sorted by name.
std::vector<Slot> SortedSlots(absl::Span<const Argument* const> arguments) {
  std::vector<Slot> slots;
  for (const Argument* argument : arguments) {
    if (argument->index() == 0) slots.push_back({argument->slot_name(), {}});
    slots.back().arguments.push_back(argument);
  }
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot& a, const Slot& b) { return a.name < b.name; });
  return slots;
}

std::string SlotText(const Slot* slot) {
  if (slot == nullptr) return kAbsent;
  const auto append_name = [](std::string* text, const Argument* argument) {
    AppendName(argument->name(), text);
  };
  const std::string names = absl::StrJoin(slot->arguments, ", ", append_name);
  return slot->arguments.size() == 1 ? names : absl::StrCat("[", names, "]");
}

std::string NameText(absl::string_view name) {
  std::string text;
  AppendName(name, &text);
  return text;
}

void CompareSlots(absl::string_view side, const std::vector<Slot>& a, const std::vector<Slot>& b,
                  const ProgramCorrespondence& correspondence, Parts* parts) {
  const auto alike = [&correspondence](const Argument* x, const Argument* y) {
    return correspondence.Alike(*x, *y);
  };
  MergeByName(
      a, b, [](const Slot& slot) { return slot.name; },
      [&](const Slot* x, const Slot* y) {
        if (x != nullptr && y != nullptr &&
            std::equal(x->arguments.begin(), x->arguments.end(), y->arguments.begin(),
                       y->arguments.end(), alike)) {
          return;
        }
        const absl::string_view name = x != nullptr ? x->name : y->name;
        parts->push_back({absl::StrCat(side, " ", NameText(name)), SlotText(x), SlotText(y)});
      });
}

// The attributes that count, sorted by name.
std::vector<const OpDesc::Attr*> SortedAttrs(const OpDesc& op, const DiffOptions& options) {
  std::vector<const OpDesc::Attr*> attrs;
  for (const OpDesc::Attr& attr : op.attrs()) {
    if (!options.ignore_debug_attributes || !IsDebugAttr(attr.name())) attrs.push_back(&attr);
  }
  std::stable_sort(attrs.begin(), attrs.end(), [](const OpDesc::Attr* a, const OpDesc::Attr* b) {
    return a->name() < b->name();
  });
  return attrs;
}

// The attribute, with its blocks renumbered as in the second program.
OpDesc::Attr WithBlocksOfB(OpDesc::Attr attr, const ProgramCorrespondence& correspondence) {
  if (attr.type() == AttrType::BLOCK) {
    attr.set_block_idx(correspondence.BlockInB(attr.block_idx()));
  } else {
    for (int32_t& block : *attr.mutable_blocks_idx()) block = correspondence.BlockInB(block);
  }
  return attr;
}

bool AttrsAlike(const OpDesc::Attr& a, const OpDesc::Attr& b,
                const ProgramCorrespondence& correspondence, const DiffOptions& options) {
  const bool is_block = a.type() == AttrType::BLOCK || a.type() == AttrType::BLOCKS;
  if (is_block && a.type() == b.type() && !options.strict) {
    return Bytes(WithBlocksOfB(a, correspondence)) == Bytes(b);
  }
  return Bytes(a) == Bytes(b);
}

void CompareAttrs(const OpDesc& a, const OpDesc& b, const ProgramCorrespondence& correspondence,
                  const DiffOptions& options, Parts* parts) {
  const auto text = [](const OpDesc::Attr* const* attr) {
    return attr == nullptr ? kAbsent : PrintAttrValue(**attr);
  };
  MergeByName(
      SortedAttrs(a, options), SortedAttrs(b, options),
      [](const OpDesc::Attr* attr) -> const std::string& { return attr->name(); },
      [&](const OpDesc::Attr* const* x, const OpDesc::Attr* const* y) {
        if (x != nullptr && y != nullptr && AttrsAlike(**x, **y, correspondence, options)) return;
        const std::string& name = x != nullptr ? (*x)->name() : (*y)->name();
        parts->push_back({absl::StrCat("attribute ", NameText(name)), text(x), text(y)});
      });
}

// The op's message, with its temporaries renamed as in the second program.
OpDesc WithNamesOfB(const Op& op, const ProgramCorrespondence& correspondence) {
  OpDesc desc = op.desc();
  const auto rename = [&](absl::Span<const Argument* const> arguments, auto* slots) {
    for (const Argument* argument : arguments) {
      const Variable* variable = argument->variable();
      const Variable* in_b = variable == nullptr ? nullptr : correspondence.TemporaryInB(*variable);
      if (in_b != nullptr) {
        slots->Mutable(argument->slot())->set_arguments(argument->index(), in_b->name());
      }
    }
  };
  rename(op.inputs(), desc.mutable_inputs());
  rename(op.outputs(), desc.mutable_outputs());
  return desc;
}

void RemoveDebugAttrs(OpDesc* op) {
  auto& attrs = *op->mutable_attrs();
  attrs.erase(std::remove_if(attrs.begin(), attrs.end(),
                             [](const OpDesc::Attr& attr) { return IsDebugAttr(attr.name()); }),
              attrs.end());
}

// Clears fields whose value means the same as their absence, at every depth (which the schema
// bounds).
void ClearWrittenDefaults(Message* message) {
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) {
        ClearWrittenDefaults(reflection.MutableMessage(message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
        ClearWrittenDefaults(reflection.MutableRepeatedMessage(message, field, i));
      }
    } else if (field->has_default_value()) {
      const bool is_default =
          (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL &&
           reflection.GetBool(*message, field) == field->default_value_bool()) ||
          (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32 &&
           reflection.GetInt32(*message, field) == field->default_value_int32()) ||
          (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64 &&
           reflection.GetInt64(*message, field) == field->default_value_int64());
      if (is_default) reflection.ClearField(message, field);
    }
  }
}

std::string PresentFields(const BlockDesc& block) {
  std::vector<absl::string_view> names;
  if (block.has_idx()) names.push_back("idx");
  if (block.has_parent_idx()) names.push_back("parent_idx");
  if (block.has_forward_block_idx()) names.push_back("forward_block_idx");
  return absl::StrJoin(names, ", ");
}

std::string NumberText(bool present, int64_t number) {
  return present ? absl::StrCat(number) : kAbsent;
}

std::vector<std::pair<std::string, int>> SortedOpVersions(const ProgramDesc& program) {
  std::vector<std::pair<std::string, int>> versions;
  for (const OpVersionMap::OpVersionPair& pair : program.op_version_map().pair()) {
    versions.emplace_back(pair.op_name(), pair.op_version().version());
  }
  std::stable_sort(versions.begin(), versions.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return versions;
}

void CompareOpVersions(const ProgramDesc& a, const ProgramDesc& b, Parts* parts) {
  using OpVersion = std::pair<std::string, int>;
  MergeByName(
      SortedOpVersions(a), SortedOpVersions(b),
      [](const OpVersion& version) -> const std::string& { return version.first; },
      [parts](const OpVersion* x, const OpVersion* y) {
        if (x != nullptr && y != nullptr && x->second == y->second) return;
        const auto text = [](const OpVersion* version) {
          return version == nullptr ? kAbsent : absl::StrCat(version->second);
        };
        parts->push_back({absl::StrCat("op version ", NameText(x != nullptr ? x->first : y->first)),
                          text(x), text(y)});
      });
}

ProgramDesc WithoutBlocks(ProgramDesc program) {
  program.clear_blocks();
  return program;
}

std::string HeaderText(const ProgramDesc& header) {
  return std::string(absl::StripSuffix(PrintProgram(header), "\n"));
}

}  // namespace

std::vector<Part> CompareOps(const Op& a, const Op& b, const ProgramCorrespondence& correspondence,
                             const DiffOptions& options) {
  Parts parts;
  const OpDesc& a_desc = a.desc();
  const OpDesc& b_desc = b.desc();
  if (a.type() != b.type()) parts.push_back({"type", a.type(), b.type()});
  CompareSlots("input", SortedSlots(a.inputs()), SortedSlots(b.inputs()), correspondence, &parts);
  CompareSlots("output", SortedSlots(a.outputs()), SortedSlots(b.outputs()), correspondence,
               &parts);
  CompareAttrs(a_desc, b_desc, correspondence, options, &parts);
  if (a_desc.is_target() != b_desc.is_target()) {
    const auto text = [](bool value) { return value ? "true" : "false"; };
    parts.push_back({"is_target", text(a_desc.is_target()), text(b_desc.is_target())});
  }
  CompareBytes("unknown fields", Bytes(a_desc.unknown_fields()), Bytes(b_desc.unknown_fields()),
               &parts);
  if (!options.strict || !parts.empty()) return parts;
  OpDesc a_words = WithNamesOfB(a, correspondence);
  OpDesc b_words = b_desc;
  if (options.ignore_debug_attributes) {
    RemoveDebugAttrs(&a_words);
    RemoveDebugAttrs(&b_words);
  }
  if (Bytes(a_words) != Bytes(b_words)) {
    parts.push_back({"written form", PrintOp(a_words), PrintOp(b_words)});
  }
  return parts;
}

std::vector<Part> CompareDeclarations(const VarDesc& a, const VarDesc& b,
                                      const DiffOptions& options) {
  VarDesc a_words = a;
  VarDesc b_words = b;
  a_words.set_name(b.name());
  b_words.set_name(b.name());
  if (Bytes(a_words) == Bytes(b_words)) return {};
  if (!options.strict) {
    ClearWrittenDefaults(&a_words);
    ClearWrittenDefaults(&b_words);
    if (Bytes(a_words) == Bytes(b_words)) return {};
  }
  return {{"declaration", PrintVar(a), PrintVar(b)}};
}

std::vector<Part> CompareBlockHeaders(const BlockDesc& a, const BlockDesc& b,
                                      const ProgramCorrespondence& correspondence,
                                      const DiffOptions& options) {
  Parts parts;
  const auto compare = [&](absl::string_view what, int in_a, int in_b) {
    const bool same = options.strict || in_a < 0
                          ? in_a == in_b
                          : in_b >= 0 && correspondence.BlockInB(in_a) == in_b;
    if (!same) {
      parts.push_back({std::string(what), absl::StrCat(in_a), absl::StrCat(in_b)});
    }
  };
  if (options.strict && a.idx() != b.idx()) {
    parts.push_back({"number", absl::StrCat(a.idx()), absl::StrCat(b.idx())});
  }
  compare("parent block", a.parent_idx(), b.parent_idx());
  compare("forward block", a.forward_block_idx(), b.forward_block_idx());
  CompareBytes("unknown fields", Bytes(a.unknown_fields()), Bytes(b.unknown_fields()), &parts);
  if (options.strict && parts.empty() && PresentFields(a) != PresentFields(b)) {
    parts.push_back({"fields that are written", PresentFields(a), PresentFields(b)});
  }
  return parts;
}

std::vector<Part> CompareProgramHeaders(const ProgramDesc& a, const ProgramDesc& b,
                                        const DiffOptions& options) {
  Parts parts;
  const auto version = [](const ProgramDesc& program) {
    return NumberText(program.version().has_version(), program.version().version());
  };
  if (options.strict ? version(a) != version(b) : a.version().version() != b.version().version()) {
    parts.push_back({"version", version(a), version(b)});
  }
  CompareOpVersions(a, b, &parts);
  CompareBytes("retired_version", a.retired_version(), b.retired_version(), &parts);
  CompareBytes("retired_op_compatible_map", a.retired_op_compatible_map(),
               b.retired_op_compatible_map(), &parts);
  CompareBytes("edit_log", Bytes(a.edit_log()), Bytes(b.edit_log()), &parts);
  CompareBytes("composites", a.composites(), b.composites(), &parts);
  CompareBytes("unknown fields", Bytes(a.unknown_fields()), Bytes(b.unknown_fields()), &parts);
  if (!options.strict || !parts.empty()) return parts;
  const ProgramDesc a_header = WithoutBlocks(a);
  const ProgramDesc b_header = WithoutBlocks(b);
  if (Bytes(a_header) != Bytes(b_header)) {
    parts.push_back({"written form", HeaderText(a_header), HeaderText(b_header)});
  }
  return parts;
}

}  // namespace fixpoint
