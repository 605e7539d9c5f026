#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/code_range.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/exchange/document_reader.h"
#include "transpiler/exchange/nni_calibration.h"
#include "transpiler/exchange/program_layers.h"

namespace fixpoint {
namespace {

// The three targets of fields, "activation" of 2.4 and before meaning the output.
const std::vector<std::string>& FieldTargets() {
  static const auto& targets =
      *new std::vector<std::string>{"weight", "input", "output", "activation"};
  return targets;
}

std::vector<std::string> KnownFields() {
  std::vector<std::string> known = {"weight_bit", "activation_bit", "weight_scale",
                                    "weight_zero_point"};
  for (const std::string& target : FieldTargets()) {
    known.push_back(absl::StrCat(target, "_bits"));
    for (const char* const kind : {"min", "max", "qmin", "qmax"}) {
      known.push_back(absl::StrCat("tracked_", kind, "_", target));
    }
  }
  return known;
}

const std::vector<std::string>& KnownFieldsOfTarget() {
  static const auto& known =
      *new std::vector<std::string>{"scale",      "zero_point",  "quant_dtype", "quant_scheme",
                                    "quant_bits", "tracked_max", "tracked_min"};
  return known;
}

class NniReader {
 public:
  NniReader(absl::string_view name, const Program& program)
      : reader_(std::string(name)), layers_(program) {}

  absl::StatusOr<RangeProfile> Read(const Node& root) {
    RETURN_IF_ERROR(reader_.CheckMapping(root, "the calibration configuration"));
    for (const NodeField& field : root.fields) {
      const ProgramLayer* const layer = layers_.Find(field.key.text);
      if (layer == nullptr) {
        return reader_.At(field.key,
                          absl::StrCat("the program has no layer \"", field.key.text, "\"",
                                       OfferNames(field.key.text, layers_.names())));
      }
      if (layer->is_ambiguous) {
        return reader_.At(field.key, absl::StrCat("several layers of the program are called \"",
                                                  field.key.text, "\"; rename their parameters"));
      }
      RETURN_IF_ERROR(ReadLayer(field.value, *layer));
    }
    return std::move(profile_);
  }

 private:
  absl::Status ReadLayer(const Node& node, const ProgramLayer& layer) {
    RETURN_IF_ERROR(reader_.CheckMapping(node, layer.name));
    const bool has_targets = std::any_of(
        node.fields.begin(), node.fields.end(),
        [](const NodeField& field) { return field.value.kind == Node::Kind::kMapping; });
    if (has_targets) {
      for (const NodeField& field : node.fields) RETURN_IF_ERROR(ReadTarget(field, layer));
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(reader_.CheckFields(node, "a layer", KnownFields()));
    for (const NodeField& field : node.fields) {
      const std::string what = absl::StrCat(layer.name, ".", field.key.text);
      if (absl::EndsWith(field.key.text, "_bits") || absl::EndsWith(field.key.text, "_bit")) {
        RETURN_IF_ERROR(reader_.Int(field.value, what, 1, 32).status());
      } else {
        RETURN_IF_ERROR(reader_.Floats(field.value, what).status());
      }
    }
    for (const std::string& target : FieldTargets()) {
      RETURN_IF_ERROR(ReadFields(node, target, layer));
    }
    return absl::OkStatus();
  }

  absl::Status ReadFields(const Node& node, const std::string& target, const ProgramLayer& layer) {
    const Node* const min = node.Find(absl::StrCat("tracked_min_", target));
    const Node* const max = node.Find(absl::StrCat("tracked_max_", target));
    if (min == nullptr && max == nullptr) return absl::OkStatus();
    if (min == nullptr || max == nullptr) {
      return reader_.At(node, absl::StrCat(layer.name, ": has only one of tracked_min_", target,
                                           " and tracked_max_", target, "; want both"));
    }
    const std::string what = absl::StrCat(layer.name, ".", target);
    const std::string name = target == "activation" ? "output" : target;
    ASSIGN_OR_RETURN(const Value* const value, ValueOf(*min, name, /*index=*/std::nullopt, layer));
    return AddRange(*min, *max, what, *value);
  }

  absl::Status ReadTarget(const NodeField& field, const ProgramLayer& layer) {
    const std::string what = absl::StrCat(layer.name, ".", field.key.text);
    absl::string_view rest = field.key.text;
    absl::string_view target = rest;
    std::optional<int> index;
    int number = 0;
    if (absl::ConsumePrefix(&rest, "_input_") && absl::SimpleAtoi(rest, &number) && number >= 0) {
      target = "input";
      index = number;
    } else if (target == "_output_0") {
      target = "output";
    } else if (target != "weight") {
      return reader_.At(field.key,
                        absl::StrCat("\"", target, "\" is no target of a layer; want weight, ",
                                     "_input_0, _input_1, ... or _output_0"));
    }
    const Node& node = field.value;
    RETURN_IF_ERROR(reader_.CheckFields(node, "a target", KnownFieldsOfTarget()));
    const Node* const min = node.Find("tracked_min");
    const Node* const max = node.Find("tracked_max");
    if (min == nullptr || max == nullptr) {
      return reader_.At(node, absl::StrCat(what, ": want tracked_min and tracked_max"));
    }
    for (const char* const tensor : {"scale", "zero_point"}) {
      const Node* const numbers = node.Find(tensor);
      if (numbers == nullptr) continue;
      RETURN_IF_ERROR(reader_.Floats(*numbers, absl::StrCat(what, ".", tensor)).status());
    }
    ASSIGN_OR_RETURN(const Value* const value, ValueOf(node, target, index, layer));
    return AddRange(*min, *max, what, *value);
  }

  // Without an index, an input is the only one.
  absl::StatusOr<const Value*> ValueOf(const Node& node, absl::string_view target,
                                       std::optional<int> index, const ProgramLayer& layer) const {
    const auto unfit = [&](absl::string_view of, size_t has, absl::string_view wanted) {
      return reader_.At(node, absl::StrCat("the layer \"", layer.name, "\" of the program has ", of,
                                           ": ", has, wanted));
    };
    if (target == "weight") {
      if (layer.weights.size() != 1) return unfit("weights", layer.weights.size(), "; want one");
      return layer.weights[0];
    }
    if (target == "output") {
      if (layer.output == nullptr) return unfit("outputs", 0, "; want one");
      return layer.output;
    }
    if (!index && layer.inputs.size() != 1) {
      return unfit("inputs", layer.inputs.size(), "; want one, or the form of NNI 3 (_input_0)");
    }
    const auto position = static_cast<size_t>(index.value_or(0));
    if (position >= layer.inputs.size()) {
      return unfit("inputs", layer.inputs.size(), absl::StrCat("; got _input_", position));
    }
    return layer.inputs[position];
  }

  absl::Status AddRange(const Node& min, const Node& max, const std::string& what,
                        const Value& value) {
    ASSIGN_OR_RETURN(const std::vector<float> low, reader_.Floats(min, what));
    ASSIGN_OR_RETURN(const std::vector<float> high, reader_.Floats(max, what));
    if (low.size() != high.size()) {
      return reader_.At(max, absl::StrCat(what, ": has ", low.size(), " minima and ", high.size(),
                                          " maxima; want as many"));
    }
    for (size_t i = 0; i < low.size(); ++i) {
      if (low[i] <= high[i]) continue;
      return reader_.At(
          max, absl::StrCat(what, ": the maximum ", high[i], " is below the minimum ", low[i]));
    }
    if (low.size() > 1) return absl::OkStatus();
    const std::string& variable = value.variable().name();
    const auto [found, is_new] = by_name_.try_emplace(variable, profile_.entries_size());
    if (is_new) {
      RangeProfile::Entry& entry = *profile_.add_entries();
      entry.set_variable(variable);
      entry.set_min(low[0]);
      entry.set_max(high[0]);
      return absl::OkStatus();
    }
    const RangeProfile::Entry& entry = profile_.entries(found->second);
    if (entry.min() == low[0] && entry.max() == high[0]) return absl::OkStatus();
    return reader_.At(
        min, absl::StrCat(what, ": \"", variable, "\" is ", low[0], " to ", high[0], " here, and ",
                          entry.min(), " to ", entry.max(), " where another layer has it"));
  }

  const DocumentReader reader_;
  const ProgramLayers layers_;
  RangeProfile profile_;
  absl::flat_hash_map<std::string, int> by_name_;  // positions of entries
};

}  // namespace

absl::StatusOr<RangeProfile> ReadNniCalibration(absl::string_view text, absl::string_view name,
                                                const Program& program) {
  ASSIGN_OR_RETURN(const std::vector<Node> documents, ParseDocuments(text, name));
  if (documents.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": documents: ", documents.size(), "; want one"));
  }
  return NniReader(name, program).Read(documents[0]);
}

}  // namespace fixpoint
