// A line at the bottom of a terminal that shows progress; or, where there is no terminal, a line of
// a log now and then.

#ifndef FIXPOINT_TOOLS_PROGRESS_LINE_H_
#define FIXPOINT_TOOLS_PROGRESS_LINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace fixpoint {

struct TrainingProgress {
  int64_t step = 0;  // done
  int64_t steps = 0;
  double loss = 0;
  std::optional<double> accuracy;  // a share of 1
  double samples_per_second = 0;
  double seconds_left = 0;
};

// "step 120/1000  loss 0.3120  accuracy 91.00 %  1230 samples/s  1:05:07 left"
std::string ProgressText(const TrainingProgress& progress);

class ProgressLine {
 public:
  enum class Kind {
    kReplaced,  // each text takes the place of the last
    kLogged,    // each text is a line of its own
  };
  ProgressLine(std::ostream* out, Kind kind);
  // On standard error: replaced where that is a terminal, and logged elsewhere.
  static ProgressLine OnStandardError();
  ~ProgressLine() { Clear(); }

  // Whether a new text is due: a tenth of a second after the last, or, of a log, ten seconds after
  // the last or the beginning.
  bool IsDue() const;
  // Replaces the last text, or adds a line.
  void Show(const std::string& text);
  // Erases a text that would be replaced, before something else is written to the terminal.
  void Clear();

 private:
  std::ostream* out_;
  Kind kind_;
  size_t width_ = 0;  // width of the text that is shown
  std::chrono::steady_clock::time_point shown_at_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_PROGRESS_LINE_H_
