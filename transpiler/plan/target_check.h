// Checks of targets: what hardware cannot do, and a target's description cannot say. A target names
// them (Target.checks); who links or loads them gives them names.
//
//   class SumsFit final : public TargetCheck {
//     absl::string_view name() const override { return "sums_fit"; }
//     ...
//     CheckVerdict Check(const Program& program, const Op& op,
//                        absl::Span<const SlotPlan> inputs) const override {
//       return Terms(op) <= 1024 ? CheckVerdict::Quantize()
//                                : CheckVerdict::KeepFloat("its sums have more than 1024 terms");
//     }
//   };

#ifndef FIXPOINT_TRANSPILER_PLAN_TARGET_CHECK_H_
#define FIXPOINT_TRANSPILER_PLAN_TARGET_CHECK_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/config/target.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/slot_plan.h"

namespace fixpoint {

// What a check says of one op.
class CheckVerdict {
 public:
  enum class Kind {
    kQuantize,   // nothing speaks against it
    kKeepFloat,  // the op stays float
    kRefuse,     // the program is not for the target at all
  };

  static CheckVerdict Quantize() { return CheckVerdict(Kind::kQuantize, ""); }
  // `why` follows the name of the check: "its sums have 2304 terms; the target adds 1024".
  static CheckVerdict KeepFloat(std::string why) {
    return CheckVerdict(Kind::kKeepFloat, std::move(why));
  }
  static CheckVerdict Refuse(std::string why) {
    return CheckVerdict(Kind::kRefuse, std::move(why));
  }

  Kind kind() const { return kind_; }
  const std::string& why() const { return why_; }

 private:
  CheckVerdict(Kind kind, std::string why) : kind_(kind), why_(std::move(why)) {}

  Kind kind_;
  std::string why_;
};

class TargetCheck {
 public:
  virtual ~TargetCheck() = default;

  // A fact that holds where it is passed: "sums_fit".
  virtual absl::string_view name() const = 0;
  // A sentence for readers.
  virtual absl::string_view doc() const = 0;
  // Whether the target can compute a forward op whose inputs are quantized like that; with the role
  // BIAS, whether it can add the bias as integers. Other inputs stay float. Gives the same answer
  // whenever it is asked.
  virtual CheckVerdict Check(const Program& program, const Op& op,
                             absl::Span<const SlotPlan> inputs) const = 0;
};

// The checks that targets can name.
class CheckTable {
 public:
  // Error (kInvalidArgument): the name is taken.
  absl::Status Add(std::unique_ptr<TargetCheck> check);
  // Null if there is none of that name.
  const TargetCheck* Find(absl::string_view name) const;
  // Those that the target names, in its order. Error (kInvalidArgument): all that are not there.
  absl::StatusOr<std::vector<const TargetCheck*>> Of(const Target& target) const;

 private:
  std::vector<std::unique_ptr<TargetCheck>> checks_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_TARGET_CHECK_H_
