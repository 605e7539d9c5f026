// sgd: p -= lr * g.

#include "ops/optimizer.h"

namespace fixpoint {
namespace {

class SgdRule final : public UpdateRule {
 public:
  absl::string_view op_type() const override { return "sgd"; }
};

}  // namespace

std::shared_ptr<const UpdateRule> Sgd() { return std::make_shared<SgdRule>(); }

}  // namespace fixpoint
