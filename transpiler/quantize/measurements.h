// What a search has measured: nothing is measured twice, also where a run goes on after another was
// interrupted.

#ifndef FIXPOINT_TRANSPILER_QUANTIZE_MEASUREMENTS_H_
#define FIXPOINT_TRANSPILER_QUANTIZE_MEASUREMENTS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config/quantize_state.pb.h"
#include "runtime/training/measured.h"
#include "transpiler/quantize/level_search.h"

namespace fixpoint {

// Something that measurements depend on.
struct RunSetting {
  std::string name;  // "--seed"
  std::string text;  // "--seed=3"
};

class Measurements {
 public:
  // `settings` are what every measurement depends on. `file` is where each is saved as soon as it
  // is made; "": nowhere.
  Measurements(const std::vector<RunSetting>& settings, std::string file);

  // Takes over what the file has, if there is one. Error, with the file: kInvalidArgument: it is of
  // a run with another setting, the first of which is named; those of LoadTextMessage.
  absl::Status Load();
  // Saves that nothing was measured yet, but for what was loaded. Error (kUnavailable): it cannot
  // be.
  absl::Status Save() const;

  // What was measured before, or what `measure` gives now. Errors: those of `measure`;
  // kUnavailable: it cannot be saved.
  absl::StatusOr<Measured> Get(absl::string_view what, const Levels& levels,
                               const std::function<absl::StatusOr<Measured>()>& measure);

  // What was measured before, if it was.
  std::optional<Measured> Find(absl::string_view what, const Levels& levels) const;

  // `after_each` is called after each measurement that is made.
  void CallAfterEach(std::function<void()> after_each) { after_each_ = std::move(after_each); }

  // How many were measured, here and before.
  int count() const { return state_.measurements_size(); }

 private:
  const std::string file_;
  std::function<void()> after_each_ = [] {};
  QuantizeState state_;
  std::map<std::string, Measured> measured_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_QUANTIZE_MEASUREMENTS_H_
