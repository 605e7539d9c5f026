#include "runtime/kernels/labels.h"

#include "absl/strings/str_cat.h"

namespace fixpoint::kernels {

absl::Status CheckLabels(const Lines& lines, const Labels& labels) {
  const int64_t wanted = labels.is_soft() ? lines.size() : lines.count();
  const size_t given = labels.is_soft() ? labels.soft.size() : labels.classes.size();
  if (static_cast<int64_t>(given) != wanted) {
    return absl::InvalidArgumentError(absl::StrCat(given, " labels; want ", wanted));
  }
  for (const int64_t label : labels.classes) {
    if (label == labels.ignored || (label >= 0 && label < lines.length)) continue;
    return absl::InvalidArgumentError(absl::StrCat("a label is ", label, "; want 0 to ",
                                                   lines.length - 1, ", or ", labels.ignored,
                                                   " for a line to ignore"));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::kernels
