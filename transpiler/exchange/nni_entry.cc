#include "transpiler/exchange/nni_entry.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/code_range.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "transpiler/exchange/module_types.h"
#include "transpiler/exchange/nni_spec.h"

namespace fixpoint {
namespace {

using Names = std::vector<std::string>;

const Names& FieldsOfVersion2() {
  static const auto& fields =
      *new Names{"op_types", "op_names",         "quant_types",  "quant_bits",
                 "exclude",  "quant_start_step", "quant_scheme", "quant_dtype"};
  return fields;
}

const Names& FieldsOfVersion3() {
  static const auto& fields =
      *new Names{"op_types",         "op_names",         "op_names_re",
                 "exclude_op_types", "exclude_op_names", "exclude_op_names_re",
                 "target_names",     "target_settings",  "quant_dtype",
                 "quant_scheme",     "granularity",      "apply_method",
                 "fuse_names"};
  return fields;
}

bool IsOfVersion3(const Node& entry) {
  const Names& both = FieldsOfVersion2();
  return std::any_of(entry.fields.begin(), entry.fields.end(), [&both](const NodeField& field) {
    const Names& names = FieldsOfVersion3();
    return std::count(names.begin(), names.end(), field.key.text) > 0 &&
           std::count(both.begin(), both.end(), field.key.text) == 0;
  });
}

// A regular expression that a name has to begin with, as a glob over all of it; nothing for one
// that says more than characters, "." and ".*".
std::optional<std::string> GlobOf(absl::string_view expression) {
  absl::ConsumePrefix(&expression, "^");
  const bool is_whole = absl::ConsumeSuffix(&expression, "$");
  std::string glob;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '.') {
      const bool is_any = i + 1 < expression.size() && expression[i + 1] == '*';
      glob += is_any ? '*' : '?';
      i += is_any ? 1 : 0;
    } else if (c == '\\' && i + 1 < expression.size() && expression[i + 1] == '.') {
      glob += '.';
      ++i;
    } else if (absl::ascii_isalnum(c) || c == '_' || c == '@' || c == '/' || c == '-') {
      glob += c;
    } else {
      return std::nullopt;
    }
  }
  if (!is_whole) glob += '*';
  return glob;
}

class EntryReader {
 public:
  EntryReader(const DocumentReader& reader, const Node& node, bool has_schemes)
      : reader_(reader), node_(node), has_schemes_(has_schemes) {}

  absl::StatusOr<NniEntry> Read() {
    RETURN_IF_ERROR(reader_.CheckMapping(node_, "an entry"));
    const bool is_of_3 = IsOfVersion3(node_);
    RETURN_IF_ERROR(reader_.CheckFields(node_,
                                        is_of_3 ? "an entry of version 3" : "an entry of version 2",
                                        is_of_3 ? FieldsOfVersion3() : FieldsOfVersion2()));
    RETURN_IF_ERROR(ReadFits());
    RETURN_IF_ERROR(is_of_3 ? ReadVersion3() : ReadVersion2());
    return std::move(entry_);
  }

 private:
  // The strings of a field; none without it.
  absl::StatusOr<Names> StringsOf(const std::string& field) const {
    const Node* const node = node_.Find(field);
    if (node == nullptr) return Names();
    return reader_.Strings(*node, field);
  }

  // Whole names of layers. A configuration of ours would take some of their characters for a glob.
  absl::StatusOr<Names> LayersOf(const std::string& field) const {
    ASSIGN_OR_RETURN(Names layers, StringsOf(field));
    for (size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].find_first_of("*?") == std::string::npos) continue;
      return reader_.At(node_.Find(field)->items[i],
                        absl::StrCat(field, ": \"", layers[i], "\" is no name of a layer; ", field,
                                     " are whole names, and ", field, "_re are patterns"));
    }
    return layers;
  }

  absl::Status Unsupported(const Node& node, absl::string_view message) const {
    return absl::UnimplementedError(reader_.At(node, message).message());
  }

  absl::Status ReadFits() {
    ASSIGN_OR_RETURN(entry_.names, LayersOf("op_names"));
    ASSIGN_OR_RETURN(entry_.excluded_names, LayersOf("exclude_op_names"));
    ASSIGN_OR_RETURN(entry_.patterns, PatternsOf("op_names_re"));
    ASSIGN_OR_RETURN(entry_.excluded_patterns, PatternsOf("exclude_op_names_re"));
    if (node_.Find("op_types") != nullptr) {
      ASSIGN_OR_RETURN(entry_.op_types, TypesOf("op_types"));
    } else if (node_.Find("op_names") != nullptr || node_.Find("op_names_re") != nullptr) {
      entry_.op_types = OpTypesOfAllModules();
    } else {
      return reader_.At(node_, "an entry without op_types and op_names fits nothing; want one");
    }
    for (const char* const field : {"op_types", "op_names", "op_names_re"}) {
      const Node* const node = node_.Find(field);
      if (node == nullptr || !node->items.empty()) continue;
      return reader_.At(*node, absl::StrCat(field, ": got an empty list, which fits nothing"));
    }
    ASSIGN_OR_RETURN(const Names excluded, TypesOf("exclude_op_types"));
    const auto is_excluded = [&excluded](const std::string& type) {
      return std::count(excluded.begin(), excluded.end(), type) > 0;
    };
    entry_.op_types.erase(
        std::remove_if(entry_.op_types.begin(), entry_.op_types.end(), is_excluded),
        entry_.op_types.end());
    return absl::OkStatus();
  }

  absl::StatusOr<Names> TypesOf(const std::string& field) const {
    ASSIGN_OR_RETURN(const Names modules, StringsOf(field));
    Names types;
    for (size_t i = 0; i < modules.size(); ++i) {
      const Names of_module = OpTypesOfModule(modules[i]);
      if (of_module.empty()) {
        Names known;
        for (const ModuleType& type : ModuleTypes()) known.push_back(type.name);
        return Unsupported(node_.Find(field)->items[i],
                           absl::StrCat(field, ": no op stands for modules of type \"", modules[i],
                                        "\"", OfferNames(modules[i], known, known.size())));
      }
      types.insert(types.end(), of_module.begin(), of_module.end());
    }
    return types;
  }

  absl::StatusOr<Names> PatternsOf(const std::string& field) const {
    ASSIGN_OR_RETURN(const Names expressions, StringsOf(field));
    Names patterns;
    for (size_t i = 0; i < expressions.size(); ++i) {
      std::optional<std::string> glob = GlobOf(expressions[i]);
      if (!glob) {
        return Unsupported(node_.Find(field)->items[i],
                           absl::StrCat(field,
                                        ": of regular expressions, letters, digits, \".\", "
                                        "\".*\", \"\\.\", \"^\" and \"$\" are read; got \"",
                                        expressions[i], "\""));
      }
      patterns.push_back(*std::move(glob));
    }
    return patterns;
  }

  // Gives a target its spec; of a spec that there is not, the error of a node.
  absl::Status SetSpec(const Node& node, absl::string_view target, NniSpec nni) {
    nni.is_weight = target == "weight";
    absl::StatusOr<QuantSpec> spec = SpecOfNni(nni);
    if (!spec.ok()) {
      return Unsupported(node, absl::StrCat(target, ": ", spec.status().message()));
    }
    SpecOf(target) = *std::move(spec);
    return absl::OkStatus();
  }

  std::optional<QuantSpec>& SpecOf(absl::string_view target) {
    if (target == "weight") return entry_.weight;
    return target == "input" ? entry_.input : entry_.output;
  }

  absl::Status ReadVersion2() {
    if (node_.Find("exclude") != nullptr) {
      entry_.excludes = true;
      for (const char* const field : {"quant_types", "quant_bits", "quant_start_step"}) {
        const Node* const node = node_.Find(field);
        if (node != nullptr) {
          return reader_.At(*node, absl::StrCat(field, " beside exclude; want one of them"));
        }
      }
      return absl::OkStatus();
    }
    const Node* const types = node_.Find("quant_types");
    if (types == nullptr) return reader_.At(node_, "an entry has neither quant_types nor exclude");
    RETURN_IF_ERROR(reader_.CheckSequence(*types, "quant_types"));
    const Names targets = {"weight", "input", "output"};
    for (const Node& item : types->items) {
      ASSIGN_OR_RETURN(const std::string target, reader_.OneOf(item, "quant_types", targets));
      RETURN_IF_ERROR(ReadTargetOfVersion2(item, target));
    }
    for (const char* const by_target : {"quant_bits", "quant_scheme", "quant_dtype"}) {
      const Node* const values = node_.Find(by_target);
      if (values == nullptr || values->kind != Node::Kind::kMapping) continue;
      for (const NodeField& field : values->fields) {
        const bool is_target = std::count(targets.begin(), targets.end(), field.key.text) > 0 &&
                               SpecOf(field.key.text).has_value();
        if (is_target) continue;
        return reader_.At(
            field.key, absl::StrCat(by_target, ": \"", field.key.text, "\" is not in quant_types"));
      }
    }
    if (const Node* const step = node_.Find("quant_start_step"); step != nullptr) {
      ASSIGN_OR_RETURN(entry_.start_step, reader_.Int(*step, "quant_start_step", 0,
                                                      std::numeric_limits<int32_t>::max()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadTargetOfVersion2(const Node& item, const std::string& target) {
    const Node* const bits = ValueFor("quant_bits", target);
    if (bits == nullptr) {
      return reader_.At(item, absl::StrCat("quant_bits has no number for ", target));
    }
    NniSpec nni;
    ASSIGN_OR_RETURN(const int64_t count, reader_.Int(*bits, "quant_bits", kLeastBits, kMostBits));
    nni.bits = static_cast<int>(count);
    if (!has_schemes_) {
      SpecOf(target).emplace().set_bits(nni.bits);
      return absl::OkStatus();
    }
    if (const Node* const scheme = ValueFor("quant_scheme", target); scheme != nullptr) {
      ASSIGN_OR_RETURN(const std::string name,
                       reader_.OneOf(*scheme, "quant_scheme",
                                     {"per_tensor_affine", "per_tensor_symmetric",
                                      "per_channel_affine", "per_channel_symmetric"}));
      nni.is_affine = absl::EndsWith(name, "_affine");
      nni.is_per_channel = absl::StartsWith(name, "per_channel_");
    }
    if (const Node* const dtype = ValueFor("quant_dtype", target); dtype != nullptr) {
      ASSIGN_OR_RETURN(const std::string name,
                       reader_.OneOf(*dtype, "quant_dtype", {"int", "uint"}));
      nni.is_unsigned = name == "uint";
    }
    return SetSpec(item, target, nni);
  }

  // The field's value, or its entry for the target; null without it.
  const Node* ValueFor(const std::string& field, const std::string& target) const {
    const Node* const node = node_.Find(field);
    if (node == nullptr || node->kind != Node::Kind::kMapping) return node;
    return node->Find(target);
  }

  absl::Status ReadVersion3() {
    if (const Node* const fused = node_.Find("fuse_names"); fused != nullptr) {
      return Unsupported(*fused,
                         "fuse_names: batch norms are folded by --mode=prepare "
                         "--fold_batch_norm, and activations by lowering; leave it out");
    }
    const Node* const settings = node_.Find("target_settings");
    if (settings != nullptr) RETURN_IF_ERROR(reader_.CheckMapping(*settings, "target_settings"));
    const Node* const names = node_.Find("target_names");
    if (names != nullptr) {
      RETURN_IF_ERROR(reader_.CheckSequence(*names, "target_names"));
      for (const Node& name : names->items) {
        const Node* const own = settings != nullptr ? settings->Find(name.text) : nullptr;
        RETURN_IF_ERROR(ReadTargetOfVersion3(name, own != nullptr ? *own : node_));
      }
    }
    if (settings == nullptr) {
      if (names != nullptr) return absl::OkStatus();
      return reader_.At(node_, "an entry has neither target_names nor target_settings");
    }
    for (const NodeField& field : settings->fields) {
      RETURN_IF_ERROR(
          reader_.CheckFields(field.value, "a target's settings",
                              {"quant_dtype", "quant_scheme", "granularity", "apply_method"}));
      if (names == nullptr) {
        RETURN_IF_ERROR(ReadTargetOfVersion3(field.key, field.value));
      } else if (std::none_of(names->items.begin(), names->items.end(),
                              [&](const Node& name) { return name.text == field.key.text; })) {
        return reader_.At(field.key, absl::StrCat("target_settings: \"", field.key.text,
                                                  "\" is not in target_names"));
      }
    }
    return absl::OkStatus();
  }

  // `settings` has the four fields of a target, which are the entry's own or the target's.
  absl::Status ReadTargetOfVersion3(const Node& name, const Node& settings) {
    ASSIGN_OR_RETURN(const std::string text, reader_.String(name, "target_names"));
    std::string target;
    if (text == "weight") {
      target = text;
    } else if (text == "_input_" || text == "_input_0") {
      target = "input";
    } else if (text == "_output_" || text == "_output_0") {
      target = "output";
    } else {
      return Unsupported(
          name, absl::StrCat("target_names: got \"", text, "\"; want weight, _input_ or _output_",
                             text == "bias" ? ": a bias is rounded where the target says so" : ""));
    }
    NniSpec nni;
    const Node* const dtype = settings.Find("quant_dtype");
    const Node* const scheme = settings.Find("quant_scheme");
    if (dtype == nullptr || scheme == nullptr) {
      return reader_.At(
          name, absl::StrCat(text, " has no ", dtype == nullptr ? "quant_dtype" : "quant_scheme"));
    }
    RETURN_IF_ERROR(ReadDtype(*dtype, nni));
    ASSIGN_OR_RETURN(const std::string scheme_name,
                     reader_.OneOf(*scheme, "quant_scheme", {"affine", "symmetric"}));
    nni.is_affine = scheme_name == "affine";
    if (const Node* const node = settings.Find("granularity"); node != nullptr) {
      if (node->kind != Node::Kind::kScalar ||
          (node->text != "default" && node->text != "out_channel")) {
        return Unsupported(*node,
                           "granularity: want default or out_channel; ranges for each input "
                           "channel or for blocks have no quantizer");
      }
      nni.is_per_channel = node->text == "out_channel";
    }
    if (const Node* const node = settings.Find("apply_method"); node != nullptr) {
      if (node->text != "clamp_round" && node->text != "qat_clamp_round") {
        return Unsupported(*node,
                           "apply_method: want clamp_round or qat_clamp_round; other "
                           "gradients are quantizers, which a rule of a configuration of "
                           "ours names");
      }
    }
    return SetSpec(name, target, nni);
  }

  // "int8", "uint4".
  absl::Status ReadDtype(const Node& node, NniSpec& nni) const {
    absl::string_view text = node.text;
    nni.is_unsigned = absl::ConsumePrefix(&text, "uint");
    const bool is_integer = nni.is_unsigned || absl::ConsumePrefix(&text, "int");
    if (node.kind == Node::Kind::kScalar && is_integer && absl::SimpleAtoi(text, &nni.bits) &&
        AreBits(nni.bits)) {
      return absl::OkStatus();
    }
    return reader_.At(node,
                      absl::StrCat("quant_dtype: got \"", node.text, "\"; want int or uint ",
                                   "and the bits, ", kLeastBits, " to ", kMostBits, ": int8"));
  }

  const DocumentReader& reader_;
  const Node& node_;
  const bool has_schemes_;
  NniEntry entry_;
};

}  // namespace

bool HasScheme(const Node& entry) {
  return entry.Find("quant_scheme") != nullptr || entry.Find("quant_dtype") != nullptr;
}

absl::StatusOr<NniEntry> ReadNniEntry(const DocumentReader& reader, const Node& entry,
                                      bool has_schemes) {
  return EntryReader(reader, entry, has_schemes).Read();
}

}  // namespace fixpoint
