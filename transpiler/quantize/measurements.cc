#include "transpiler/quantize/measurements.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/text_message.h"

namespace fixpoint {
namespace {

std::string NameOf(absl::string_view what, const Levels& levels) {
  return absl::StrCat(what, " ", absl::StrJoin(levels, ""));
}

}  // namespace

Measurements::Measurements(const std::vector<RunSetting>& settings, std::string file)
    : file_(std::move(file)) {
  for (const RunSetting& setting : settings) {
    QuantizeState::Setting& saved = *state_.add_settings();
    saved.set_name(setting.name);
    saved.set_text(setting.text);
  }
}

absl::Status Measurements::Load() {
  std::error_code error;
  if (!std::filesystem::exists(file_, error)) return absl::OkStatus();
  QuantizeState saved;
  RETURN_IF_ERROR(LoadTextMessage(file_, &saved));
  const auto names = [](const QuantizeState& state) {
    std::vector<std::string> names;
    for (const QuantizeState::Setting& setting : state.settings()) names.push_back(setting.name());
    return names;
  };
  if (names(saved) != names(state_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        file_, ": was saved by another version of the tool; want the same, or no --resume"));
  }
  for (int i = 0; i < state_.settings_size(); ++i) {
    const std::string& before = saved.settings(i).text();
    const std::string& now = state_.settings(i).text();
    if (before == now) continue;
    return absl::InvalidArgumentError(absl::StrCat(file_, ": was saved by a run with ", before,
                                                   ", and this one has ", now,
                                                   "; want the same, or no --resume"));
  }
  state_ = std::move(saved);
  for (const QuantizeState::Measurement& measurement : state_.measurements()) {
    Measured& measured = measured_[measurement.what()];
    measured.value = measurement.value();
    if (measurement.has_standard_error()) measured.standard_error = measurement.standard_error();
  }
  return absl::OkStatus();
}

std::optional<Measured> Measurements::Find(absl::string_view what, const Levels& levels) const {
  const auto known = measured_.find(NameOf(what, levels));
  return known == measured_.end() ? std::nullopt : std::optional<Measured>(known->second);
}

absl::StatusOr<Measured> Measurements::Get(
    absl::string_view what, const Levels& levels,
    const std::function<absl::StatusOr<Measured>()>& measure) {
  if (const std::optional<Measured> known = Find(what, levels)) return *known;
  ASSIGN_OR_RETURN(const Measured measured, measure());
  QuantizeState::Measurement& measurement = *state_.add_measurements();
  measurement.set_what(NameOf(what, levels));
  measurement.set_value(measured.value);
  if (measured.standard_error) measurement.set_standard_error(*measured.standard_error);
  measured_[measurement.what()] = measured;
  RETURN_IF_ERROR(Save());
  after_each_();
  return measured;
}

absl::Status Measurements::Save() const {
  return file_.empty() ? absl::OkStatus() : WriteFileAtomically(file_, PrintTextMessage(state_));
}

}  // namespace fixpoint
