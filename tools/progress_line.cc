#include "tools/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "absl/strings/str_format.h"

namespace fixpoint {
namespace {

constexpr auto kBetweenTexts = std::chrono::milliseconds(100);
constexpr auto kBetweenLines = std::chrono::seconds(10);

std::string DurationText(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const int64_t hours = whole / 3600;
  const int64_t minutes = whole / 60 % 60;
  if (hours == 0) return absl::StrFormat("%d:%02d", minutes, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", hours, minutes, whole % 60);
}

}  // namespace

std::string ProgressText(const TrainingProgress& progress) {
  std::string text =
      absl::StrFormat("step %d/%d  loss %.4f", progress.step, progress.steps, progress.loss);
  if (progress.accuracy)
    absl::StrAppendFormat(&text, "  accuracy %.2f %%", 100 * *progress.accuracy);
  absl::StrAppendFormat(&text, "  %.0f samples/s  %s left", progress.samples_per_second,
                        DurationText(progress.seconds_left));
  return text;
}

ProgressLine::ProgressLine(std::ostream* out, Kind kind) : out_(out), kind_(kind) {
  if (kind == Kind::kLogged) shown_at_ = std::chrono::steady_clock::now();
}

ProgressLine ProgressLine::OnStandardError() {
  return {&std::cerr, isatty(STDERR_FILENO) != 0 ? Kind::kReplaced : Kind::kLogged};
}

bool ProgressLine::IsDue() const {
  const auto since = std::chrono::steady_clock::now() - shown_at_;
  return kind_ == Kind::kLogged ? since >= kBetweenLines : since >= kBetweenTexts;
}

void ProgressLine::Show(const std::string& text) {
  shown_at_ = std::chrono::steady_clock::now();
  if (kind_ == Kind::kLogged) {
    *out_ << text << std::endl;
    return;
  }
  // Overwrites the last one, with blanks over its remaining end.
  *out_ << '\r' << text << std::string(std::max(width_, text.size()) - text.size(), ' ')
        << std::flush;
  width_ = text.size();
}

void ProgressLine::Clear() {
  if (width_ == 0) return;
  *out_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
  width_ = 0;
}

}  // namespace fixpoint
