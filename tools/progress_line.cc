#include "tools/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace fixpoint {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(100);

}  // namespace

bool CanShowProgress() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal != nullptr && absl::string_view(terminal) != "dumb";
}

ProgressLine::ProgressLine(std::string what, int64_t total, std::ostream& out, bool show,
                           absl::Time start)
    : what_(std::move(what)), total_(total), out_(out), show_(show), start_(start), next_(start) {}

ProgressLine::~ProgressLine() {
  if (width_ > 0) out_ << "\r" << std::string(width_, ' ') << "\r" << std::flush;
}

void ProgressLine::Update(int64_t done, absl::Time now) {
  if (!show_ || now < next_) return;
  next_ = now + kInterval;
  std::string line = absl::StrCat(what_, " ", done);
  if (total_ > 0) absl::StrAppend(&line, "/", total_);
  const double seconds = absl::ToDoubleSeconds(now - start_);
  if (done > 0 && seconds > 0) {
    absl::StrAppendFormat(&line, ", %.3g/s", done / seconds);
    if (total_ > done) {
      const absl::Duration left = absl::Seconds(seconds / done * (total_ - done));
      absl::StrAppend(&line, ", ", absl::FormatDuration(absl::Ceil(left, absl::Seconds(1))),
                      " left");
    }
  }
  const size_t width = line.size();
  line.resize(std::max(width, width_), ' ');
  width_ = width;
  out_ << "\r" << line << std::flush;
}

}  // namespace fixpoint
