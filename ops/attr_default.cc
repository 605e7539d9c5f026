#include "ops/attr_default.h"

#include <glog/logging.h>

#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

AttrDefault Default(OpDesc::Attr attr) {
  const AttrType type = attr.type();
  return {type, std::move(attr)};
}

const absl::flat_hash_map<std::string, AttrSchema>& HintAttrs() {
  static const auto* const attrs = [] {
    auto* const by_name = new absl::flat_hash_map<std::string, AttrSchema>();
    for (const AttrSchema& attr : std::vector<AttrSchema>{
             MakeAttr("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", Bool(true)),
             MakeAttr("Scale_in", Float(1)),
             MakeAttr("Scale_in_eltwise", Float(1)),
             MakeAttr("Scale_out", Float(1)),
             MakeAttr("Scale_weights", Floats({1})),
             MakeAttr("Scale_x", Float(1)),
             MakeAttr("Scale_y", Float(1)),
             MakeAttr("exhaustive_search", Bool(false)),
             MakeAttr("force_cpu", Bool(false)),
             MakeAttr("force_fp32_output", Bool(false)),
             MakeAttr("is_test", Bool(false)),
             MakeAttr("mkldnn_data_type", String("float32")),
             MakeAttr("skip_eager_deletion_vars", Strings({})),
             MakeAttr("use_addto", Bool(false)),
             MakeAttr("use_cudnn", Bool(false)),
             MakeAttr("use_mkldnn", Bool(false)),
             MakeAttr("use_quantizer", Bool(false)),
             MakeAttr("workspace_size_MB", Int(512)),
             MakeAttr("x_data_format", String("")),
             MakeAttr("y_data_format", String("")),
         }) {
      by_name->emplace(attr.name, attr);
    }
    return by_name;
  }();
  return *attrs;
}

}  // namespace

AttrDefault Int(int32_t value) { return Default(MakeIntAttr("", value)); }
AttrDefault Long(int64_t value) { return Default(MakeLongAttr("", value)); }
AttrDefault Float(float value) { return Default(MakeFloatAttr("", value)); }
AttrDefault Bool(bool value) { return Default(MakeBoolAttr("", value)); }
AttrDefault String(absl::string_view value) { return Default(MakeStringAttr("", value)); }
AttrDefault Ints(const std::vector<int32_t>& values) { return Default(MakeIntsAttr("", values)); }
AttrDefault Longs(const std::vector<int64_t>& values) { return Default(MakeLongsAttr("", values)); }
AttrDefault Floats(const std::vector<float>& values) { return Default(MakeFloatsAttr("", values)); }
AttrDefault Strings(const std::vector<std::string>& values) {
  return Default(MakeStringsAttr("", values));
}

AttrDefault EmptyList(AttrType type) {
  OpDesc::Attr attr;
  attr.set_type(type);
  return Default(std::move(attr));
}

AttrDefault Required(AttrType type) { return {type, std::nullopt}; }

AttrSchema MakeAttr(absl::string_view name, AttrDefault value, Eras eras) {
  AttrSchema attr{std::string(name), value.type, nullptr, eras};
  if (value.value) {
    value.value->set_name(attr.name);
    attr.default_value = std::make_shared<const OpDesc::Attr>(*std::move(value.value));
  }
  return attr;
}

const AttrSchema& HintAttr(absl::string_view name) {
  const auto found = HintAttrs().find(name);
  CHECK(found != HintAttrs().end()) << name;
  return found->second;
}

}  // namespace fixpoint
