#include "transpiler/quantize/run_settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/quantizer_table.h"
#include "proto/base/status_macros.h"
#include "runtime/calibration/parameters_checksum.h"
#include "runtime/checksum.h"
#include "runtime/training/checkpoint.h"
#include "transpiler/plan/target.h"

namespace fixpoint {
namespace {

class Settings {
 public:
  void Add(const char* flag, absl::string_view value) {
    settings_.push_back({flag, absl::StrCat(flag, "=", value)});
  }
  void AddSwitch(const char* flag, bool is_on) { Add(flag, is_on ? "true" : "false"); }
  // What is too long to be shown.
  void AddContents(const char* flag, uint64_t checksum) {
    settings_.push_back({flag, absl::StrCat(flag, " of checksum ", absl::Hex(checksum))});
  }
  void AddContents(const char* flag, const std::string& text) {
    AddContents(flag, ChecksumOf({{reinterpret_cast<const uint8_t*>(text.data()), text.size()}}));
  }

  std::vector<RunSetting> Take() { return std::move(settings_); }

 private:
  std::vector<RunSetting> settings_;
};

std::string TextOf(const std::optional<Metric>& metric) {
  if (!metric) return "";
  const bool has_sign = metric->is_variable() && !metric->IsBetter(1, 0);
  return absl::StrCat(has_sign ? "-" : "", metric->name());
}

}  // namespace

absl::StatusOr<std::vector<RunSetting>> SettingsOf(const Program& program, const Scope& parameters,
                                                   const QuantConfig& config,
                                                   const QuantizeData& data,
                                                   const QuantizeOptions& options) {
  Settings settings;
  settings.AddContents("PROGRAM", ChecksumOf(program));
  settings.AddContents("--params", ParametersChecksum(program.Proto(), parameters));
  ASSIGN_OR_RETURN(const uint64_t samples, data.samples->Checksum());
  settings.AddContents("--data", samples);
  uint64_t measured = samples;
  if (data.measured != nullptr) {
    ASSIGN_OR_RETURN(measured, data.measured->Checksum());
  }
  settings.AddContents("--eval_data", measured);
  settings.Add("--samples", absl::StrCat(options.samples));
  settings.Add("--seed", absl::StrCat(options.seed));
  settings.Add("--batch_size", absl::StrCat(options.batch_size));
  settings.Add("--images", options.named.images);
  settings.Add("--labels", options.named.labels);
  settings.Add("--loss", options.named.loss);
  settings.Add("--scores", options.named.scores);
  settings.Add("outputs", absl::StrJoin(options.outputs, ","));
  settings.Add("--metric", TextOf(options.metric));
  settings.Add("--target", config.target());
  const QuantizerTable built_in;
  ASSIGN_OR_RETURN(
      const Target target,
      LoadTarget(config.target(), options.quantizers == nullptr ? built_in : *options.quantizers));
  settings.AddContents("the target", target.SerializeAsString());
  settings.AddContents("--config", config.SerializeAsString());
  settings.AddContents("--quantizers", options.quantizer_texts);
  settings.AddSwitch("--fold_batch_norm", options.prepare.fold_batch_norm);
  settings.AddSwitch("--equalize", options.prepare.equalize_weights);
  const WeightMethods& weights = options.weights;
  settings.AddSwitch("--smooth", weights.smooth.has_value());
  settings.Add("alpha of --smooth", weights.smooth ? absl::StrCat(weights.smooth->alpha) : "");
  settings.AddSwitch("--correct_biases", weights.correct_biases);
  settings.Add("--rounding", weights.rounding ? "learned" : "nearest");
  settings.Add("learning of --rounding", weights.rounding ? TextOf(*weights.rounding) : "");
  settings.Add("samples of methods for weights", absl::StrCat(weights.samples));
  return settings.Take();
}

}  // namespace fixpoint
