#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "transpiler/exchange/foreign_config.h"
#include "transpiler/plan/target.h"

namespace fixpoint {
namespace {

const std::vector<std::string>& KnownKeys() {
  static const auto& keys = *new std::vector<std::string>{"weight_quantize_type",
                                                          "activation_quantize_type",
                                                          "weight_bits",
                                                          "activation_bits",
                                                          "not_quant_pattern",
                                                          "quantize_op_types",
                                                          "dtype",
                                                          "window_size",
                                                          "moving_rate",
                                                          "for_tensorrt",
                                                          "is_full_quantize"};
  return keys;
}

class PaddleConfigReader {
 public:
  PaddleConfigReader(const DocumentReader& reader, const Node& object)
      : reader_(reader), object_(object) {}

  absl::StatusOr<QuantConfig> Read() {
    RETURN_IF_ERROR(
        reader_.CheckFields(object_, "a quantization configuration of PaddlePaddle", KnownKeys()));
    RETURN_IF_ERROR(ReadSpec(
        "weight", {"abs_max", "channel_wise_abs_max", "range_abs_max", "moving_average_abs_max"},
        *config_.mutable_weights()));
    RETURN_IF_ERROR(ReadSpec("activation", {"abs_max", "range_abs_max", "moving_average_abs_max"},
                             *config_.mutable_activations()));
    RETURN_IF_ERROR(ReadSetting("window_size", "range_abs_max"));
    RETURN_IF_ERROR(ReadSetting("moving_rate", "moving_average_abs_max"));
    RETURN_IF_ERROR(CheckDtype());
    RETURN_IF_ERROR(CheckIsOff("for_tensorrt", "--target=tensorrt_int8"));
    RETURN_IF_ERROR(CheckIsOff("is_full_quantize", "the op types in quantize_op_types"));
    RETURN_IF_ERROR(ReadOpTypes());
    RETURN_IF_ERROR(ReadSkipped());
    return std::move(config_);
  }

 private:
  absl::Status ReadSpec(const std::string& role, const std::vector<std::string>& quantizers,
                        QuantSpec& spec) {
    const std::string type = absl::StrCat(role, "_quantize_type");
    if (const Node* const node = object_.Find(type); node != nullptr) {
      ASSIGN_OR_RETURN(const std::string quantizer, reader_.OneOf(*node, type, quantizers));
      spec.set_quantizer(quantizer);
    }
    const std::string bits = absl::StrCat(role, "_bits");
    if (const Node* const node = object_.Find(bits); node != nullptr) {
      ASSIGN_OR_RETURN(const int64_t value, reader_.Int(*node, bits, kLeastBits, kMostBits));
      spec.set_bits(static_cast<int32_t>(value));
    }
    return absl::OkStatus();
  }

  // A setting of one quantizer, where it is used; a whole dictionary has those of all.
  absl::Status ReadSetting(const std::string& key, const std::string& quantizer) {
    const Node* const node = object_.Find(key);
    if (node == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const double value, reader_.Double(*node, key));
    for (QuantSpec* spec : {config_.mutable_weights(), config_.mutable_activations()}) {
      if (spec->quantizer() == quantizer) (*spec->mutable_parameters())[key] = value;
    }
    if (config_.activations().has_quantizer()) return absl::OkStatus();
    return reader_.At(*node, absl::StrCat(key, " belongs to ", quantizer,
                                          "; want activation_quantize_type beside it"));
  }

  absl::Status CheckDtype() const {
    const Node* const node = object_.Find("dtype");
    if (node == nullptr) return absl::OkStatus();
    return reader_.OneOf(*node, "dtype", {"int8"}).status();
  }

  absl::Status CheckIsOff(const std::string& key, absl::string_view instead) const {
    const Node* const node = object_.Find(key);
    if (node == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool is_on, reader_.Bool(*node, key));
    if (!is_on) return absl::OkStatus();
    return Unsupported(*node, absl::StrCat(key, " is not read; want ", instead));
  }

  // Only the named types are quantized: first nothing, then each of them.
  absl::Status ReadOpTypes() {
    const Node* const node = object_.Find("quantize_op_types");
    if (node == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<std::string> types,
                     reader_.Strings(*node, "quantize_op_types"));
    const std::vector<std::string> known = QuantizableOpTypes();
    QuantRule& others = *config_.add_rules();
    others.set_name("quantize_op_types: others");
    others.set_name_pattern("*");
    others.set_skip(true);
    others.set_optional(true);
    for (size_t i = 0; i < types.size(); ++i) {
      if (std::find(known.begin(), known.end(), types[i]) == known.end()) {
        return reader_.At(node->items[i],
                          absl::StrCat("quantize_op_types: no op of type \"", types[i],
                                       "\" can be quantized", DidYouMean(types[i], known)));
      }
      QuantRule& rule = *config_.add_rules();
      rule.set_name("quantize_op_types");
      rule.set_op_type(types[i]);
      rule.mutable_spec();
      rule.set_optional(true);
    }
    return absl::OkStatus();
  }

  absl::Status ReadSkipped() {
    const Node* const node = object_.Find("not_quant_pattern");
    if (node == nullptr) return absl::OkStatus();
    std::vector<std::string> patterns;
    if (node->kind == Node::Kind::kScalar) {
      ASSIGN_OR_RETURN(std::string pattern, reader_.String(*node, "not_quant_pattern"));
      patterns.push_back(std::move(pattern));
    } else {
      ASSIGN_OR_RETURN(patterns, reader_.Strings(*node, "not_quant_pattern"));
    }
    for (std::string& pattern : patterns) {
      QuantRule& rule = *config_.add_rules();
      rule.set_name("not_quant_pattern");
      rule.set_scope(std::move(pattern));
      rule.set_skip(true);
      rule.set_optional(true);
    }
    return absl::OkStatus();
  }

  absl::Status Unsupported(const Node& node, absl::string_view message) const {
    return absl::UnimplementedError(reader_.At(node, message).message());
  }

  const DocumentReader& reader_;
  const Node& object_;
  QuantConfig config_;
};

}  // namespace

absl::StatusOr<QuantConfig> PaddleConfig(const DocumentReader& reader, const Node& object) {
  return PaddleConfigReader(reader, object).Read();
}

}  // namespace fixpoint
