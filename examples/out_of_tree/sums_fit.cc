#include "sums_fit.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"

namespace out_of_tree {
namespace {

using ::fixpoint::CheckVerdict;

constexpr int64_t kMostTerms = 1024;

class SumsFit final : public fixpoint::TargetCheck {
 public:
  absl::string_view name() const override { return "sums_fit"; }
  absl::string_view doc() const override {
    return "Products whose sums have more than 1024 terms stay float.";
  }

  CheckVerdict Check(const fixpoint::Program& program, const fixpoint::Op& op,
                     absl::Span<const fixpoint::SlotPlan> inputs) const override {
    for (const fixpoint::SlotPlan& input : inputs) {
      if (input.role != fixpoint::SlotRole::WEIGHT) continue;
      const std::optional<int> channels = fixpoint::FindOpSchema(op.type())->WeightAxis(
          op, input.argument->slot_name(), EraOf(program));
      if (!channels) continue;
      const int64_t terms = Terms(*input.argument->variable()->tensor(), *channels);
      if (terms > kMostTerms) {
        return CheckVerdict::KeepFloat(
            absl::StrCat("its sums have ", terms, " terms; the target adds ", kMostTerms));
      }
    }
    return CheckVerdict::Quantize();
  }

 private:
  // The elements of a weight for each channel.
  static int64_t Terms(const fixpoint::VarType::TensorDesc& weight, int channel_axis) {
    int64_t terms = 1;
    for (int axis = 0; axis < weight.dims_size(); ++axis) {
      if (axis != channel_axis) terms *= weight.dims(axis);
    }
    return terms;
  }
};

}  // namespace

std::unique_ptr<fixpoint::TargetCheck> MakeSumsFit() { return std::make_unique<SumsFit>(); }

}  // namespace out_of_tree
