// An Epilogue as post-ops of oneDNN.

#ifndef FIXPOINT_RUNTIME_KERNELS_EPILOGUE_POST_OPS_H_
#define FIXPOINT_RUNTIME_KERNELS_EPILOGUE_POST_OPS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/onednn.h"

namespace fixpoint::kernels {

// The stages of an epilogue after a primitive, and where their operands are.
class EpiloguePostOps {
 public:
  // `out` is what the primitive writes, with its channels on `channel_axis`. `adds_to_output`: the
  // elements that a stage adds are where the result goes, as codes are, and not in an operand.
  EpiloguePostOps(const Epilogue& epilogue, const dnnl::memory::desc& out, int channel_axis,
                  bool adds_to_output = false);

  // The attributes of the primitive, which has no others. Throws dnnl::error (dnnl_unimplemented)
  // where there are more stages than oneDNN takes.
  dnnl::primitive_attr attr() const;
  // The arguments to run the primitive with: its own, and the operands.
  std::vector<Execution::Argument> With(std::vector<Execution::Argument> arguments) const;

  // REQUIRES: operands of the epilogue.
  void PointTo(EpilogueOperands operands);

 private:
  Epilogue epilogue_;
  std::vector<std::optional<Operand>> operands_;  // one for each stage
};

// `kernel`, which was planned with that epilogue. Error (kUnimplemented): oneDNN computes them
// element by element, or, in a gemm, with other bits.
template <typename Kernel>
absl::StatusOr<std::unique_ptr<Kernel>> CheckFused(const Epilogue& epilogue,
                                                   absl::StatusOr<std::unique_ptr<Kernel>> kernel) {
  if (epilogue.empty() || !kernel.ok()) return kernel;
  const std::string implementation = (*kernel)->implementation();
  if (absl::StrContains(implementation, "ref") || absl::StrContains(implementation, "gemm")) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN has only ", implementation, " for this epilogue"));
  }
  return kernel;
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_EPILOGUE_POST_OPS_H_
