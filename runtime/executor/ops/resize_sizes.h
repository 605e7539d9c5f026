// What an op that resizes images says of the sizes of its result: attributes, and tensors whose
// elements are known when it is planned or decided by a run.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIZE_SIZES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIZE_SIZES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "ops/resizing.h"
#include "runtime/executor/op_planner.h"

namespace fixpoint::executor {

class ResizeSizes {
 public:
  // Error (kUnimplemented): a tensor has elements of a type that no step reads. REQUIRES: X has
  // spatial axes.
  static absl::StatusOr<ResizeSizes> Of(OpPlanner& op, bool is_v2);

  // The slot of a tensor whose elements a run decides; null where there is none.
  const std::string* FindDecidedSlot() const;

  // Errors: those of ResizedAxes; (kUnimplemented) a run decides the sizes.
  absl::StatusOr<std::vector<ResizedAxis>> Known() const;
  // The same in a run, by a step that reads `buffers`. Error (kInvalidArgument): a size is more
  // than `most`.
  absl::StatusOr<std::vector<ResizedAxis>> In(const StepContext& run, const Dims& most) const;
  std::vector<Buffer> buffers() const;

  // The largest sizes that a run may decide: those that are known, and else those that the program
  // declares Out to have. Error (kUnimplemented): it declares none.
  absl::StatusOr<Dims> Most(const OpPlanner& op) const;

 private:
  struct Numbers {
    Buffer buffer;
    TensorType type;
    std::optional<std::vector<double>> known;
  };
  // The tensors in a slot.
  struct Slot {
    std::string name;
    std::vector<Numbers> tensors;

    static absl::StatusOr<Slot> Of(OpPlanner& op, absl::string_view name);
    bool is_decided() const;
    std::vector<double> In(const StepContext* run) const;
    // Each number that is known.
    std::vector<std::optional<double>> KnownNumbers() const;
  };

  absl::StatusOr<std::vector<ResizedAxis>> AxesIn(const StepContext* run) const;

  ResizeRequest request_;  // by the attributes
  Dims from_;
  int first_axis_ = 2;  // of the spatial ones
  Slot sizes_;
  Slot scales_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RESIZE_SIZES_H_
