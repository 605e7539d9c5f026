#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "proto/base/json_writer.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/exchange/nni_calibration.h"
#include "transpiler/exchange/program_layers.h"
#include "transpiler/exchange/ranges_by_variable.h"

namespace fixpoint {
namespace {

// A range under the name that a form gives it: "weight", "input", "_input_0".
using Target = std::pair<std::string, const LearnedRange*>;

class NniWriter {
 public:
  NniWriter(const std::vector<LearnedRange>& ranges, NniForm form) : form_(form) {
    for (const LearnedRange& range : ranges) by_value_[range.value] = &range;
  }

  void Write(const ProgramLayer& layer) {
    const std::vector<Target> targets = TargetsOf(layer);
    if (targets.empty()) return;
    json_.Key(layer.name).BeginObject();
    for (const auto& [name, range] : targets) {
      written_.insert(&range->value->variable());
      if (form_ == NniForm::kFields) {
        WriteFields(name, *range);
      } else {
        WriteTarget(name, *range);
      }
    }
    json_.EndObject();
  }

  bool HasWritten(const LearnedRange& range) const {
    return written_.contains(&range.value->variable());
  }
  JsonWriter& json() { return json_; }

 private:
  std::vector<Target> TargetsOf(const ProgramLayer& layer) const {
    std::vector<Target> targets;
    if (layer.is_ambiguous) return targets;
    const auto add = [&](std::string name, const Value* value) {
      const auto found = by_value_.find(value);
      if (found != by_value_.end()) targets.emplace_back(std::move(name), found->second);
    };
    if (layer.weights.size() == 1) add("weight", layer.weights[0]);
    if (form_ == NniForm::kTargets) {
      for (size_t i = 0; i < layer.inputs.size(); ++i) {
        add(absl::StrCat("_input_", i), layer.inputs[i]);
      }
      add("_output_0", layer.output);
      return targets;
    }
    // The field has no number.
    if (layer.inputs.size() == 1) add("input", layer.inputs[0]);
    add("output", layer.output);
    return targets;
  }

  void WriteFields(const std::string& target, const LearnedRange& range) {
    json_.Key(absl::StrCat(target, "_bits")).Int(range.codes.bits);
    if (range.is_weight) {
      WriteTensor("weight_scale", range, &LearnedRange::Step);
      WriteZeroPoints("weight_zero_point", range);
    }
    WriteTensor(absl::StrCat("tracked_min_", target), range, &LearnedRange::Min);
    WriteTensor(absl::StrCat("tracked_max_", target), range, &LearnedRange::Max);
    json_.Key(absl::StrCat("tracked_qmin_", target)).Int(range.codes.smallest);
    json_.Key(absl::StrCat("tracked_qmax_", target)).Int(range.codes.largest);
  }

  void WriteTarget(const std::string& target, const LearnedRange& range) {
    json_.Key(target).BeginObject();
    WriteTensor("scale", range, &LearnedRange::Step);
    WriteZeroPoints("zero_point", range);
    json_.Key("quant_dtype")
        .String(absl::StrCat(range.codes.is_unsigned ? "uint" : "int", range.codes.bits));
    json_.Key("quant_scheme").String(range.is_affine ? "affine" : "symmetric");
    json_.Key("quant_bits").Int(range.codes.bits);
    WriteTensor("tracked_max", range, &LearnedRange::Max);
    WriteTensor("tracked_min", range, &LearnedRange::Min);
    json_.EndObject();
  }

  // A number of the tensor, or a list of one for each channel.
  void WriteTensor(absl::string_view key, const LearnedRange& range,
                   float (LearnedRange::*number)(size_t) const) {
    json_.Key(key);
    if (range.axis == -1 && range.scales.size() == 1) {
      json_.Float((range.*number)(0));
      return;
    }
    json_.BeginArray();
    for (size_t i = 0; i < range.scales.size(); ++i) json_.Float((range.*number)(i));
    json_.EndArray();
  }

  void WriteZeroPoints(absl::string_view key, const LearnedRange& range) {
    json_.Key(key);
    const auto zero_point = [&range](size_t i) {
      return range.is_affine ? static_cast<int64_t>(range.zero_points[i]) : 0;
    };
    if (range.axis == -1 && range.scales.size() == 1) {
      json_.Int(zero_point(0));
      return;
    }
    json_.BeginArray();
    for (size_t i = 0; i < range.scales.size(); ++i) json_.Int(zero_point(i));
    json_.EndArray();
  }

  const NniForm form_;
  absl::flat_hash_map<const Value*, const LearnedRange*> by_value_;
  absl::flat_hash_set<const Variable*> written_;
  JsonWriter json_;
};

}  // namespace

absl::StatusOr<std::string> WriteNniCalibration(const std::vector<LearnedRange>& ranges,
                                                const Program& program, NniForm form) {
  ASSIGN_OR_RETURN(const std::vector<const LearnedRange*> kept, RangesByVariable(ranges));
  NniWriter writer(ranges, form);
  writer.json().BeginObject();
  const ProgramLayers layers(program);
  for (const ProgramLayer& layer : layers.all()) writer.Write(layer);
  writer.json().EndObject();
  for (const LearnedRange* range : kept) {
    if (range->is_observed || writer.HasWritten(*range)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "\"", range->variable(), "\" is neither the ",
        form == NniForm::kFields ? "only input" : "input",
        ", the only weight nor the output of a layer that alone has its name, so that this form "
        "cannot name it; ",
        form == NniForm::kFields ? "--format=nni3 numbers inputs, and " : "",
        "--format=json has all values by variable"));
  }
  return writer.json().Take();
}

}  // namespace fixpoint
