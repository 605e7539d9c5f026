#include "transpiler/quantize/measurements.h"

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

absl::Status Measurements::Load() {
  std::error_code error;
  if (!std::filesystem::exists(file_, error)) return absl::OkStatus();
  QuantizeState saved;
  RETURN_IF_ERROR(LoadTextMessage(file_, &saved));
  if (saved.run() != state_.run()) {
    return absl::InvalidArgumentError(absl::StrCat(file_, ": was saved by a run of ", saved.run(),
                                                   "; this one is of ", state_.run(),
                                                   ": want the same, or no --resume"));
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
  if (!file_.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(file_, PrintTextMessage(state_)));
  }
  after_each_();
  return measured;
}

}  // namespace fixpoint
