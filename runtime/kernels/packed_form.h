// What weights are packed to, so that kernels that read the same need them once.

#ifndef FIXPOINT_RUNTIME_KERNELS_PACKED_FORM_H_
#define FIXPOINT_RUNTIME_KERNELS_PACKED_FORM_H_

#include <string>

namespace fixpoint::kernels {

// A kernel that knows what it packs weights to (PacksWeights, packing.h).
class HasPackedForm {
 public:
  virtual ~HasPackedForm() = default;

  // Kernels of equal forms pack the same weights to the same bytes. "": it is not known.
  virtual std::string packed_form() const = 0;
};

// The form of any kernel.
template <typename Kernel>
std::string PackedFormOf(const Kernel& kernel) {
  const auto* const known = dynamic_cast<const HasPackedForm*>(&kernel);
  return known != nullptr ? known->packed_form() : "";
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PACKED_FORM_H_
