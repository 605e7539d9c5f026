// Attributes in the text form, whose type shows in their value: `axis=1`, `shape=[1L, 2L]`,
// `starts=ints[]`; docs/program_text.md has all of them.

#ifndef FIXPOINT_PROTO_TEXT_ATTRIBUTE_TEXT_H_
#define FIXPOINT_PROTO_TEXT_ATTRIBUTE_TEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/text/text_scanner.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// Appends `name=value`, or the serialized message if the value is not in the one field of its type.
void AppendAttr(const OpDesc::Attr& attr, std::string* text);
void AppendAttr(const VarDesc::Attr& attr, std::string* text);

// Appends the value alone, or the serialized message in the same case.
void AppendAttrValue(const OpDesc::Attr& attr, std::string* text);

// Reads what AppendAttr writes; false after an error was noted.
bool ParseAttr(TextScanner* scanner, OpDesc::Attr* attr);
bool ParseAttr(TextScanner* scanner, VarDesc::Attr* attr);

// The attribute that AppendAttr writes as `text`; nothing if there is none.
std::optional<OpDesc::Attr> AttrOfText(absl::string_view text);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_TEXT_ATTRIBUTE_TEXT_H_
