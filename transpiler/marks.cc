#include "transpiler/marks.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace fixpoint {

std::string AttributeMark(const Op& op, absl::string_view name) {
  const OpDesc::Attr* attr = op.FindAttr(name);
  if (attr == nullptr) return absl::StrCat(name, "+");
  switch (attr->type()) {
    case BOOLEAN:
      return absl::StrCat(name, "=", attr->b() ? "true" : "false");
    case INT:
      return absl::StrCat(name, "=", attr->i());
    case STRING:
      return absl::StrCat(name, "=", attr->s());
    default:
      return absl::StrCat(name, "+");
  }
}

std::optional<OpDesc::Attr> AttributeOfMark(OpDesc::Attr attr, absl::string_view value) {
  bool boolean = false;
  int32_t integer = 0;
  switch (attr.type()) {
    case BOOLEAN:
      if (!absl::SimpleAtob(value, &boolean)) return std::nullopt;
      attr.set_b(boolean);
      return attr;
    case INT:
      if (!absl::SimpleAtoi(value, &integer)) return std::nullopt;
      attr.set_i(integer);
      return attr;
    case STRING:
      attr.set_s(std::string(value));
      return attr;
    default:
      return std::nullopt;
  }
}

bool IsMarked(const Program& program) {
  if (program.Proto().has_edit_log()) return true;
  for (int b = 0; b < program.block_count(); ++b) {
    for (const Op& op : program.block(b).ops()) {
      if (!op.has_own_attrs()) continue;
      if (op.FindAttr(kInsertedByAttr) != nullptr || op.FindAttr(kRewiredAttr) != nullptr) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace fixpoint
