// What is wrong with a file, all of it at once.

#ifndef FIXPOINT_TRANSPILER_PLAN_COMPLAINTS_H_
#define FIXPOINT_TRANSPILER_PLAN_COMPLAINTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fixpoint {

class Complaints {
 public:
  // Keeps the first 20.
  template <typename... Parts>
  void Add(const Parts&... parts) {
    constexpr size_t kMost = 20;
    if (complaints_.size() < kMost) complaints_.push_back(absl::StrCat(parts...));
  }

  // Error (kInvalidArgument): the complaints, a line each.
  absl::Status status() const {
    if (complaints_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(complaints_, "\n"));
  }

 private:
  std::vector<std::string> complaints_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_COMPLAINTS_H_
