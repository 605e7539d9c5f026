#include "transpiler/patterns/pattern_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op_builder.h"
#include "proto/program/slots.h"
#include "proto/text/program_text.h"
#include "transpiler/patterns/attribute_reader.h"
#include "transpiler/patterns/condition_reader.h"
#include "transpiler/patterns/match_steps.h"
#include "transpiler/patterns/pattern_checks.h"

namespace fixpoint {
namespace {

using Kind = PatternValue::Kind;

class Reader {
 public:
  Reader(const TextItem& item, absl::string_view file_name) : item_(item), file_(file_name) {
    pattern_.name = item.name;
    pattern_.doc = item.doc;
    pattern_.line = item.line;
  }

  absl::StatusOr<Pattern> Read() {
    ASSIGN_OR_RETURN(const ProgramPart before, Part("before", kMostOpsBefore, ""));
    ASSIGN_OR_RETURN(const ProgramPart after,
                     Part("after", kMostOpsAfter,
                          ", such as assign(X=x) -> (Out=y) where y is x and no op is left"));
    RETURN_IF_ERROR(ReadOps(before, /*is_after=*/false));
    RETURN_IF_ERROR(ReadDeclarations(before));
    RETURN_IF_ERROR(ReadWhere());
    if (after.block.vars_size() > 0) {
      return Error(after.var_lines[0],
                   "a var line in `after`; what values must be, `before` says, and the types of "
                   "new ones follow from the ops");
    }
    RETURN_IF_ERROR(ReadOps(after, /*is_after=*/true));
    RETURN_IF_ERROR(CheckResults());
    RETURN_IF_ERROR(FindSteps());
    RETURN_IF_ERROR(CheckResultTypes(pattern_, file_));
    RETURN_IF_ERROR(CheckEnds(pattern_, file_));
    return std::move(pattern_);
  }

 private:
  std::string Place(int line) const {
    return absl::StrCat(file_, ":", line, ": pattern ", item_.name, ": ");
  }
  absl::Status Error(int line, absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(Place(line), message));
  }

  absl::StatusOr<ProgramPart> Part(const char* name, int most_ops, const char* hint) const {
    const TextSection* const section = item_.Find(name);
    if (section == nullptr) {
      return Error(item_.line, absl::StrCat("no section ", name, "; want before: and after:"));
    }
    ASSIGN_OR_RETURN(ProgramPart part, ParseProgramPart(section->text, file_, section->first_line));
    const int ops = part.block.ops_size();
    if (ops == 0 || ops > most_ops) {
      return Error(section->first_line - 1,
                   absl::StrCat(name, " has ", ops, " ops; want 1 to ", most_ops, hint));
    }
    return part;
  }

  absl::Status ReadOps(const ProgramPart& part, bool is_after) {
    for (int i = 0; i < part.block.ops_size(); ++i) {
      PatternOp op;
      op.line = part.op_lines[i];
      ASSIGN_OR_RETURN(const OpDesc desc,
                       ReadPatternOp(part.block.ops(i), is_after, Place(op.line)));
      op.type = desc.type();
      const auto read = [&](const std::string& name, int* value) {
        return is_after ? ReadAfter(name, op.line, value) : ReadBefore(name, op.line, value);
      };
      RETURN_IF_ERROR(ReadSlots(desc.inputs(), read, &op.inputs));
      const auto write = [&](const std::string& name, int* value) {
        return is_after ? WriteAfter(name, op.line, value) : WriteBefore(name, op.line, value);
      };
      RETURN_IF_ERROR(ReadSlots(desc.outputs(), write, &op.outputs));
      RETURN_IF_ERROR(attributes_.Read(desc, is_after, Place(op.line), &op.attributes));
      if (is_after) RETURN_IF_ERROR(CheckGivenAttributes(pattern_, desc, Place(op.line)));
      RETURN_IF_ERROR(attributes_.NoteTypes(op, Place(op.line)));
      (is_after ? pattern_.after : pattern_.before).push_back(std::move(op));
    }
    return absl::OkStatus();
  }

  template <typename Take>
  absl::Status ReadSlots(const Slots& slots, Take take, std::vector<PatternSlot>* taken) const {
    for (const OpDesc::Var& slot : slots) {
      if (slot.arguments_size() == 0) continue;
      PatternSlot one{slot.parameter(), {}};
      for (const std::string& name : slot.arguments()) {
        RETURN_IF_ERROR(take(name, &one.values.emplace_back()));
      }
      taken->push_back(std::move(one));
    }
    return absl::OkStatus();
  }

  // A name with the lines on which it is first read and written; 0 for none.
  struct Name {
    int value = 0;
    int read = 0;
    int written = 0;
    int written_after = 0;
  };

  Name& Note(const std::string& name, Kind kind) {
    const auto [known, is_new] = names_.try_emplace(name);
    if (is_new) {
      known->second.value = static_cast<int>(pattern_.values.size());
      pattern_.values.push_back({name, kind, {}});
    }
    return known->second;
  }

  absl::Status ReadBefore(const std::string& name, int line, int* value) {
    Name& known = Note(name, Kind::kCapture);
    if (known.read == 0) known.read = line;
    *value = known.value;
    return absl::OkStatus();
  }

  absl::Status WriteBefore(const std::string& name, int line, int* value) {
    Name& known = Note(name, Kind::kInner);
    if (known.written != 0) {
      return Error(line, absl::StrCat("\"", name, "\" is written on line ", known.written,
                                      " already; give each value a name of its own"));
    }
    if (known.read != 0) {
      return Error(line, absl::StrCat("\"", name, "\" is read on line ", known.read,
                                      " and written here; a value is written before it is read, "
                                      "and no op is part of a cycle"));
    }
    known.written = line;
    *value = known.value;
    return absl::OkStatus();
  }

  absl::Status ReadAfter(const std::string& name, int line, int* value) {
    const auto known = names_.find(name);
    if (known == names_.end()) {
      return Error(line, absl::StrCat("nothing gives \"", name,
                                      "\"; `after` reads what `before` reads and what the ops "
                                      "above write"));
    }
    const bool is_capture = pattern_.values[known->second.value].kind == Kind::kCapture;
    if (!is_capture && known->second.written_after == 0) {
      return Error(line,
                   absl::StrCat("\"", name, "\" is written by ops of `before` (line ",
                                known->second.written, "), which are gone; compute it in `after`"));
    }
    *value = known->second.value;
    return absl::OkStatus();
  }

  absl::Status WriteAfter(const std::string& name, int line, int* value) {
    Name& known = Note(name, Kind::kMade);
    PatternValue& written = pattern_.values[known.value];
    if (known.written_after != 0) {
      return Error(line, absl::StrCat("\"", name, "\" is written on line ", known.written_after,
                                      " already; give each value a name of its own"));
    }
    if (written.kind == Kind::kCapture) {
      return Error(line, absl::StrCat("`after` writes \"", name,
                                      "\", which `before` reads and does not write; give what is "
                                      "written another name"));
    }
    if (written.kind == Kind::kInner) written.kind = Kind::kResult;
    known.written_after = line;
    *value = known.value;
    return absl::OkStatus();
  }

  absl::Status ReadDeclarations(const ProgramPart& before) {
    for (int i = 0; i < before.block.vars_size(); ++i) {
      const VarDesc& var = before.block.vars(i);
      const int line = before.var_lines[i];
      const auto known = names_.find(var.name());
      if (known == names_.end()) {
        return Error(line, absl::StrCat("no op of `before` names \"", var.name(), "\""));
      }
      PatternValue& value = pattern_.values[known->second.value];
      if (value.declared) {
        return Error(line, absl::StrCat("a second var line for \"", var.name(), "\"; want one"));
      }
      VarDesc sayable = MakeTensorVar(var.name(), var.type().lod_tensor().tensor().data_type(),
                                      var.type().lod_tensor().tensor().dims());
      if (var.persistable()) sayable.set_persistable(true);
      if (PrintVar(sayable) != PrintVar(var)) {
        return Error(line, absl::StrCat("\"", PrintVar(var),
                                        "\" says more than a pattern asks; "
                                        "want a dtype with extents, and persistable or not: \"",
                                        PrintVar(sayable), "\""));
      }
      value.declared = std::move(sayable);
    }
    return absl::OkStatus();
  }

  absl::Status ReadWhere() {
    const TextSection* const section = item_.Find("where");
    if (section == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(pattern_.conditions, ReadConditions(*section, file_, attributes_.Names()));
    return absl::OkStatus();
  }

  absl::Status CheckResults() const {
    for (const PatternValue& value : pattern_.values) {
      if (value.kind == Kind::kResult) return absl::OkStatus();
    }
    return Error(pattern_.after.back().line,
                 "`after` writes nothing that `before` writes; the result of both has one name");
  }

  absl::Status FindSteps() {
    const std::optional<int> lost = AddMatchSteps(&pattern_);
    if (!lost) return absl::OkStatus();
    const PatternOp& op = pattern_.before[*lost];
    return Error(op.line, absl::StrCat("the ", op.type,
                                       " is not connected with the last op of `before` by values "
                                       "that these ops write; want one connected pattern, or "
                                       "several"));
  }

  const TextItem& item_;
  const absl::string_view file_;
  Pattern pattern_;
  absl::flat_hash_map<std::string, Name> names_;
  AttributeReader attributes_{&pattern_};
};

}  // namespace

absl::StatusOr<Pattern> ReadPattern(const TextItem& item, absl::string_view file_name) {
  return Reader(item, file_name).Read();
}

}  // namespace fixpoint
