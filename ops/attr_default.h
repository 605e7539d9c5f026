// The attributes of an op's definition: their types and defaults.

#ifndef FIXPOINT_OPS_ATTR_DEFAULT_H_
#define FIXPOINT_OPS_ATTR_DEFAULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/op_schema.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The type and the default of an attribute.
struct AttrDefault {
  AttrType type;
  std::optional<OpDesc::Attr> value;
};
AttrDefault Int(int32_t value);
AttrDefault Long(int64_t value);
AttrDefault Float(float value);
AttrDefault Bool(bool value);
AttrDefault String(absl::string_view value);
AttrDefault Ints(const std::vector<int32_t>& values);
AttrDefault Longs(const std::vector<int64_t>& values);
AttrDefault Floats(const std::vector<float>& values);
AttrDefault Strings(const std::vector<std::string>& values);
// An empty list of any other type.
AttrDefault EmptyList(AttrType type);
// An attribute that the op must carry.
AttrDefault Required(AttrType type);

AttrSchema MakeAttr(absl::string_view name, AttrDefault value, Eras eras = Eras::kAll);

// An attribute that chooses how an op is run, not what it computes, and that has one default in
// all ops: "use_cudnn". Another name is a defect of ours and ends the program.
const AttrSchema& HintAttr(absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_ATTR_DEFAULT_H_
