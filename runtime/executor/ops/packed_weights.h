// The steps that make of weights what a kernel of floats takes. If the weights are constants
// (constants.h) they run once.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/named_function.h"
#include "runtime/executor/op_planner.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/packing.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {

// Adds the step that makes floats of the codes in a slot, and returns what it writes.
template <typename Code>
absl::StatusOr<Buffer> ReadCodesAsFloats(OpPlanner& op, absl::string_view slot) {
  ASSIGN_OR_RETURN(const Buffer codes, op.Read(slot, DataTypeOf<Code>()));
  const Buffer floats = op.Scratch(slot, VarType::FP32, codes.size);
  op.AddStep({{codes},
              {floats},
              [=](const StepContext& run) {
                const auto from = run.Of<Code>(codes);
                std::copy(from.begin(), from.end(), run.Floats(floats).begin());
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat("floats of ", slot)});
  return floats;
}

// The floats of weights. Codes that are stored as integers (FrozenForm::kLegacyInt8) are the
// numbers that the product computes with. Error: that of OpPlanner::Read.
inline absl::StatusOr<Buffer> ReadWeightFloats(OpPlanner& op, absl::string_view slot) {
  switch (op.InputType(slot).dtype) {
    case VarType::INT8:
      return ReadCodesAsFloats<int8_t>(op, slot);
    case VarType::INT16:
      return ReadCodesAsFloats<int16_t>(op, slot);
    default:
      return op.ReadFloats(slot);
  }
}

// Adds the step that packs weights, which calls pack(run, packed), and returns what it writes. T is
// the type of the weights. A `name` is that of the function (named_function.h).
template <typename T, typename Pack>
Buffer AddPacking(OpPlanner& op, const std::shared_ptr<kernels::PacksWeights<T>>& kernel,
                  std::vector<Buffer> reads, Pack pack, std::string name = "") {
  const Buffer packed = op.Scratch("packed", VarType::UINT8, kernel->packed_bytes());
  std::function<absl::Status(const StepContext&)> run =
      [=, pack = std::move(pack)](const StepContext& run) {
        pack(run, run.Of<uint8_t>(packed));
        return absl::OkStatus();
      };
  if (!name.empty()) run = NamedFunction{std::move(name), std::move(run)};
  op.AddStep({std::move(reads), {packed}, std::move(run), "", 0, "pack weights"});
  return packed;
}
// The same for weights as they are, which are what is returned if the kernel reads them so.
template <typename T>
Buffer AddPacking(OpPlanner& op, const std::shared_ptr<kernels::PacksWeights<T>>& kernel,
                  Buffer weights) {
  if (kernel->reads_plain_weights()) return {weights.index, kernel->packed_bytes()};
  return AddPacking<T>(
      op, kernel, {weights},
      [=](const StepContext& run, absl::Span<uint8_t> packed) {
        kernel->Pack(run.Of<T>(weights), packed);
      },
      kernels::PackedFormOf(*kernel));
}

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_PACKED_WEIGHTS_H_
