#include "proto/program/attributes.h"

#include <algorithm>

namespace fixpoint {
namespace {

OpDesc::Attr MakeAttr(absl::string_view name, AttrType type) {
  OpDesc::Attr attr;
  attr.set_name(std::string(name));
  attr.set_type(type);
  return attr;
}

template <typename To, typename From>
std::vector<To> Widened(const From& values) {
  return std::vector<To>(values.begin(), values.end());
}

}  // namespace

const OpDesc::Attr* FindAttr(const OpDesc& op, absl::string_view name) {
  for (const OpDesc::Attr& attr : op.attrs()) {
    if (attr.name() == name) return &attr;
  }
  return nullptr;
}

NamedBlocks BlocksOf(const OpDesc& op) {
  NamedBlocks blocks;
  for (const OpDesc::Attr& attr : op.attrs()) {
    if (attr.type() == BLOCK) blocks.emplace_back(&attr, attr.block_idx());
    if (attr.type() != BLOCKS) continue;
    for (const int index : attr.blocks_idx()) blocks.emplace_back(&attr, index);
  }
  return blocks;
}

std::vector<absl::string_view> VariablesInAttrs(const OpDesc& op) {
  std::vector<absl::string_view> names;
  for (const OpDesc::Attr& attr : op.attrs()) {
    if (attr.type() == VAR) names.push_back(attr.var_name());
    if (attr.type() == VARS)
      names.insert(names.end(), attr.vars_name().begin(), attr.vars_name().end());
  }
  return names;
}

std::optional<int64_t> IntValue(const OpDesc::Attr& attr) {
  switch (attr.type()) {
    case INT:
      return attr.i();
    case LONG:
      return attr.l();
    default:
      return std::nullopt;
  }
}

std::optional<double> FloatValue(const OpDesc::Attr& attr) {
  switch (attr.type()) {
    case FLOAT:
      return attr.f();
    case FLOAT64:
      return attr.float64();
    default: {
      const std::optional<int64_t> value = IntValue(attr);
      return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
    }
  }
}

std::optional<bool> BoolValue(const OpDesc::Attr& attr) {
  switch (attr.type()) {
    case BOOLEAN:
      return attr.b();
    case INT:
      return attr.i() != 0;
    default:
      return std::nullopt;
  }
}

std::optional<std::string> StringValue(const OpDesc::Attr& attr) {
  return attr.type() == STRING ? std::optional<std::string>(attr.s()) : std::nullopt;
}

std::optional<std::vector<int64_t>> IntsValue(const OpDesc::Attr& attr) {
  switch (attr.type()) {
    case INTS:
      return Widened<int64_t>(attr.ints());
    case LONGS:
      return Widened<int64_t>(attr.longs());
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<double>> FloatsValue(const OpDesc::Attr& attr) {
  switch (attr.type()) {
    case FLOATS:
      return Widened<double>(attr.floats());
    case FLOAT64S:
      return Widened<double>(attr.float64s());
    case INTS:
      return Widened<double>(attr.ints());
    case LONGS:
      return Widened<double>(attr.longs());
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<std::string>> StringsValue(const OpDesc::Attr& attr) {
  if (attr.type() != STRINGS) return std::nullopt;
  return Widened<std::string>(attr.strings());
}

std::optional<int64_t> IntAttr(const OpDesc& op, absl::string_view name) {
  const OpDesc::Attr* attr = FindAttr(op, name);
  return attr != nullptr ? IntValue(*attr) : std::nullopt;
}

std::optional<double> FloatAttr(const OpDesc& op, absl::string_view name) {
  const OpDesc::Attr* attr = FindAttr(op, name);
  return attr != nullptr ? FloatValue(*attr) : std::nullopt;
}

std::optional<bool> BoolAttr(const OpDesc& op, absl::string_view name) {
  const OpDesc::Attr* attr = FindAttr(op, name);
  return attr != nullptr ? BoolValue(*attr) : std::nullopt;
}

std::optional<std::string> StringAttr(const OpDesc& op, absl::string_view name) {
  const OpDesc::Attr* attr = FindAttr(op, name);
  return attr != nullptr ? StringValue(*attr) : std::nullopt;
}

std::optional<std::vector<int64_t>> IntsAttr(const OpDesc& op, absl::string_view name) {
  const OpDesc::Attr* attr = FindAttr(op, name);
  return attr != nullptr ? IntsValue(*attr) : std::nullopt;
}

std::optional<std::vector<double>> FloatsAttr(const OpDesc& op, absl::string_view name) {
  const OpDesc::Attr* attr = FindAttr(op, name);
  return attr != nullptr ? FloatsValue(*attr) : std::nullopt;
}

std::optional<std::vector<std::string>> StringsAttr(const OpDesc& op, absl::string_view name) {
  const OpDesc::Attr* attr = FindAttr(op, name);
  return attr != nullptr ? StringsValue(*attr) : std::nullopt;
}

void SetAttr(OpDesc::Attr attr, OpDesc* op) {
  const auto same_name = [&attr](const OpDesc::Attr& other) { return other.name() == attr.name(); };
  const auto found =
      std::find_if(op->mutable_attrs()->begin(), op->mutable_attrs()->end(), same_name);
  (found != op->mutable_attrs()->end() ? *found : *op->add_attrs()) = std::move(attr);
}

OpDesc::Attr MakeIntAttr(absl::string_view name, int32_t value) {
  OpDesc::Attr attr = MakeAttr(name, INT);
  attr.set_i(value);
  return attr;
}

OpDesc::Attr MakeBlockAttr(absl::string_view name, int32_t block) {
  OpDesc::Attr attr = MakeAttr(name, BLOCK);
  attr.set_block_idx(block);
  return attr;
}

OpDesc::Attr MakeLongAttr(absl::string_view name, int64_t value) {
  OpDesc::Attr attr = MakeAttr(name, LONG);
  attr.set_l(value);
  return attr;
}

OpDesc::Attr MakeFloatAttr(absl::string_view name, float value) {
  OpDesc::Attr attr = MakeAttr(name, FLOAT);
  attr.set_f(value);
  return attr;
}

OpDesc::Attr MakeBoolAttr(absl::string_view name, bool value) {
  OpDesc::Attr attr = MakeAttr(name, BOOLEAN);
  attr.set_b(value);
  return attr;
}

OpDesc::Attr MakeStringAttr(absl::string_view name, absl::string_view value) {
  OpDesc::Attr attr = MakeAttr(name, STRING);
  attr.set_s(std::string(value));
  return attr;
}

OpDesc::Attr MakeIntsAttr(absl::string_view name, const std::vector<int32_t>& values) {
  OpDesc::Attr attr = MakeAttr(name, INTS);
  attr.mutable_ints()->Assign(values.begin(), values.end());
  return attr;
}

OpDesc::Attr MakeLongsAttr(absl::string_view name, const std::vector<int64_t>& values) {
  OpDesc::Attr attr = MakeAttr(name, LONGS);
  attr.mutable_longs()->Assign(values.begin(), values.end());
  return attr;
}

OpDesc::Attr MakeFloatsAttr(absl::string_view name, const std::vector<float>& values) {
  OpDesc::Attr attr = MakeAttr(name, FLOATS);
  attr.mutable_floats()->Assign(values.begin(), values.end());
  return attr;
}

OpDesc::Attr MakeStringsAttr(absl::string_view name, const std::vector<std::string>& values) {
  OpDesc::Attr attr = MakeAttr(name, STRINGS);
  for (const std::string& value : values) attr.add_strings(value);
  return attr;
}

}  // namespace fixpoint
