#include "transpiler/pipeline/marks.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/text/attribute_text.h"

namespace fixpoint {

std::string ArgumentMark(absl::string_view slot, int index, absl::string_view before) {
  return absl::StrCat(slot, ".", index, "=", before);
}

std::string AddedArgumentMark(absl::string_view slot, int index) {
  return absl::StrCat(slot, ".", index, "+");
}

std::string AttributeMark(const Op& op, absl::string_view name) {
  const OpDesc::Attr* attr = op.FindAttr(name);
  if (attr == nullptr) return absl::StrCat(name, "+");
  std::string mark = absl::StrCat(name, "=");
  AppendAttrValue(*attr, &mark);
  return mark;
}

void AddMark(const Op& op, std::string mark, Rewriter* rewriter) {
  std::vector<std::string> marks =
      StringsAttr(op.desc(), kRewiredAttr).value_or(std::vector<std::string>());
  marks.push_back(std::move(mark));
  rewriter->SetAttr(op, MakeStringsAttr(kRewiredAttr, marks));
}

std::optional<OpDesc::Attr> AttributeOfMark(absl::string_view name, absl::string_view value) {
  // A value that is not in its type's field is the serialized attribute.
  const bool is_whole = absl::StartsWith(value, "serialized ");
  std::optional<OpDesc::Attr> attr =
      AttrOfText(is_whole ? std::string(value) : absl::StrCat(name, "=", value));
  if (!attr.has_value() || attr->name() != name || attr->type() == BLOCK ||
      attr->type() == BLOCKS) {
    return std::nullopt;
  }
  return attr;
}

bool IsMarked(const Program& program) {
  if (program.Proto().has_edit_log() && !program.Proto().edit_log().prepares()) return true;
  for (const Op& op : program.ops()) {
    if (!op.has_own_attrs()) continue;
    if (op.FindAttr(kInsertedByAttr) != nullptr || op.FindAttr(kRewiredAttr) != nullptr) {
      return true;
    }
  }
  return false;
}

}  // namespace fixpoint
