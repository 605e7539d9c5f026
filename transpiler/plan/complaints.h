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
  // Keeps the first 20, and counts the others.
  template <typename... Parts>
  void Add(const Parts&... parts) {
    constexpr size_t kMost = 20;
    if (complaints_.size() < kMost) {
      complaints_.push_back(absl::StrCat(parts...));
    } else {
      ++others_;
    }
  }

  // Error (kInvalidArgument): the complaints, a line each.
  absl::Status status() const {
    if (complaints_.empty()) return absl::OkStatus();
    const std::string more = others_ > 0 ? absl::StrCat("\nand ", others_, " more") : "";
    return absl::InvalidArgumentError(absl::StrCat(absl::StrJoin(complaints_, "\n"), more));
  }

 private:
  std::vector<std::string> complaints_;
  int others_ = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_COMPLAINTS_H_
