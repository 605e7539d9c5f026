// An Epilogue as post-ops of oneDNN.

#ifndef FIXPOINT_RUNTIME_KERNELS_EPILOGUE_POST_OPS_H_
#define FIXPOINT_RUNTIME_KERNELS_EPILOGUE_POST_OPS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_implementations.h"

namespace fixpoint::kernels {

// How many stages a primitive takes. With more, oneDNN says that there is no memory for them.
constexpr size_t kMostPostOps = 32;

// The stages of an epilogue after a primitive, and where their operands are.
class EpiloguePostOps {
 public:
  // `out` is what the primitive writes, with its channels on `channel_axis`. `adds_to_output`: the
  // elements that a stage adds are where the result goes, as codes are, and not in an operand.
  EpiloguePostOps(const Epilogue& epilogue, const dnnl::memory::desc& out, int channel_axis,
                  bool adds_to_output = false);

  // Attributes of the primitive, without any but these. Throws dnnl::error (dnnl_unimplemented)
  // where there are more stages than kMostPostOps.
  dnnl::primitive_attr attr() const;
  // The arguments to run the primitive with: its own, and the operands.
  std::vector<Execution::Argument> With(std::vector<Execution::Argument> arguments) const;

  // REQUIRES: operands of the epilogue.
  void PointTo(EpilogueOperands operands);

 private:
  Epilogue epilogue_;
  std::vector<std::optional<Operand>> operands_;  // one for each stage
};

// `kernel`, which was planned with that epilogue. Error (kUnimplemented): by an implementation that
// is not allowed (onednn_implementations.h).
template <typename Kernel>
absl::StatusOr<std::unique_ptr<Kernel>> CheckFused(const Epilogue& epilogue,
                                                   absl::StatusOr<std::unique_ptr<Kernel>> kernel) {
  if (epilogue.empty() || !kernel.ok()) return kernel;
  const std::string implementation = (*kernel)->implementation();
  if (!IsAllowed(OnednnUse::kFloatsWithEpilogue, implementation)) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN has only ", implementation, " for this epilogue"));
  }
  return kernel;
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_EPILOGUE_POST_OPS_H_
