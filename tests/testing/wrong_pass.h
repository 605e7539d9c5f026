// A pass with a planted defect.

#ifndef FIXPOINT_TESTS_TESTING_WRONG_PASS_H_
#define FIXPOINT_TESTS_TESTING_WRONG_PASS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/pass.h"

namespace fixpoint {

using Edit = std::function<void(Program& program, PassContext& context)>;

// A pass that does what `before` does, if that is given, and then makes an edit that it must not.
class WrongPass final : public Pass {
 public:
  WrongPass(const Pass* before, Edit edit) : before_(before), edit_(std::move(edit)) {}

  absl::string_view name() const override { return "wrong"; }
  absl::string_view doc() const override { return "Breaks an invariant."; }
  std::vector<std::string> Requires() const override {
    return before_ == nullptr ? std::vector<std::string>() : before_->Requires();
  }
  std::vector<std::string> Establishes() const override {
    return before_ == nullptr ? std::vector<std::string>() : before_->Establishes();
  }

  absl::Status Run(Program& program, PassContext& context) const override {
    if (before_ != nullptr) RETURN_IF_ERROR(before_->Run(program, context));
    edit_(program, context);
    return absl::OkStatus();
  }

 private:
  const Pass* const before_;
  const Edit edit_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_WRONG_PASS_H_
