#include "transpiler/quantize/measurements.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/text_message.h"

namespace fixpoint {

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
    values_[measurement.what()] = measurement.value();
  }
  return absl::OkStatus();
}

absl::StatusOr<double> Measurements::Get(absl::string_view what, const Levels& levels,
                                         const std::function<absl::StatusOr<double>()>& measure) {
  const std::string name = absl::StrCat(what, " ", absl::StrJoin(levels, ""));
  if (const auto known = values_.find(name); known != values_.end()) return known->second;
  ASSIGN_OR_RETURN(const double value, measure());
  values_[name] = value;
  QuantizeState::Measurement& measurement = *state_.add_measurements();
  measurement.set_what(name);
  measurement.set_value(value);
  if (!file_.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(file_, PrintTextMessage(state_)));
  }
  after_each_();
  return value;
}

}  // namespace fixpoint
