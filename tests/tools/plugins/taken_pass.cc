// A plugin whose pass has the name of a built-in one, of another stage than that of `transpile`.

#include <memory>

#include "proto/program/program.h"
#include "transpiler/extensions/plugin.h"

namespace {

class StripTraining final : public fixpoint::Pass {
 public:
  absl::string_view name() const override { return "strip_training"; }
  absl::string_view doc() const override { return "Does nothing."; }
  absl::Status Run(fixpoint::Program&, fixpoint::PassContext&) const override {
    return absl::OkStatus();
  }
};

absl::Status Extend(fixpoint::Extensions& extensions) {
  return extensions.AddPass(&std::make_unique<StripTraining>);
}

}  // namespace

FIXPOINT_PLUGIN(Extend);
