// Reading and making attributes by kind, with the widening that real files need.

#ifndef FIXPOINT_PROTO_PROGRAM_ATTRIBUTES_H_
#define FIXPOINT_PROTO_PROGRAM_ATTRIBUTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The attribute of that name, or null.
const OpDesc::Attr* FindAttr(const OpDesc& op, absl::string_view name);

// The prefix of the attributes that Fixpoint adds; the reference has none that begin so.
inline constexpr char kOwnAttrPrefix[] = "fixpoint.";

// The blocks that an op's attributes name (BLOCK and BLOCKS), each with the attribute.
using NamedBlocks = std::vector<std::pair<const OpDesc::Attr*, int>>;
NamedBlocks BlocksOf(const OpDesc& op);
// The variables that they name (VAR and VARS), which the op reads as it reads its inputs.
std::vector<absl::string_view> VariablesInAttrs(const OpDesc& op);

// The value of an attribute; nothing if it is of another kind. Numbers widen, because files of some
// eras hold the narrower kind: INT and LONG read as int64; INT, LONG, FLOAT and FLOAT64 as double;
// and the lists alike. INT reads as bool too: is_test is 1 in files of 2018 and 2019.
std::optional<int64_t> IntValue(const OpDesc::Attr& attr);
std::optional<double> FloatValue(const OpDesc::Attr& attr);
std::optional<bool> BoolValue(const OpDesc::Attr& attr);
std::optional<std::string> StringValue(const OpDesc::Attr& attr);
std::optional<std::vector<int64_t>> IntsValue(const OpDesc::Attr& attr);
std::optional<std::vector<double>> FloatsValue(const OpDesc::Attr& attr);
std::optional<std::vector<std::string>> StringsValue(const OpDesc::Attr& attr);

// The same for an op's attribute; nothing also if it is absent.
std::optional<int64_t> IntAttr(const OpDesc& op, absl::string_view name);
std::optional<double> FloatAttr(const OpDesc& op, absl::string_view name);
std::optional<bool> BoolAttr(const OpDesc& op, absl::string_view name);
std::optional<std::string> StringAttr(const OpDesc& op, absl::string_view name);
std::optional<std::vector<int64_t>> IntsAttr(const OpDesc& op, absl::string_view name);
std::optional<std::vector<double>> FloatsAttr(const OpDesc& op, absl::string_view name);
std::optional<std::vector<std::string>> StringsAttr(const OpDesc& op, absl::string_view name);

// Sets the attribute of that name, and adds it if the op has none.
void SetAttr(OpDesc::Attr attr, OpDesc* op);

OpDesc::Attr MakeIntAttr(absl::string_view name, int32_t value);
OpDesc::Attr MakeBlockAttr(absl::string_view name, int32_t block);
OpDesc::Attr MakeLongAttr(absl::string_view name, int64_t value);
OpDesc::Attr MakeFloatAttr(absl::string_view name, float value);
OpDesc::Attr MakeBoolAttr(absl::string_view name, bool value);
OpDesc::Attr MakeStringAttr(absl::string_view name, absl::string_view value);
OpDesc::Attr MakeIntsAttr(absl::string_view name, const std::vector<int32_t>& values);
OpDesc::Attr MakeLongsAttr(absl::string_view name, const std::vector<int64_t>& values);
OpDesc::Attr MakeFloatsAttr(absl::string_view name, const std::vector<float>& values);
OpDesc::Attr MakeStringsAttr(absl::string_view name, const std::vector<std::string>& values);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_ATTRIBUTES_H_
