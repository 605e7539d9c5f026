// What a program shows about a rewrite that quantized it, whoever did it: no edit log is needed.

#ifndef FIXPOINT_TRANSPILER_TRAIN_FOUND_REWRITE_H_
#define FIXPOINT_TRANSPILER_TRAIN_FOUND_REWRITE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/plan.h"

namespace fixpoint {

struct FoundRewrite {
  // A site for each value and each way in which it is quantized. Its readers are the forward ops
  // that read a result, its gradient readers the same slots of their gradient ops, whatever those
  // read. All gradient ops of the types of those forward ops are listed. There are no decisions.
  Plan plan;
  // The ops that quantize and dequantize, and their variables except for the quantized values and
  // trained scales, which are parameters.
  absl::flat_hash_set<const Op*> ops;
  absl::flat_hash_set<const Variable*> variables;
};

// The name of the pass that adds gradients and updates of what quantizers train.
inline constexpr char kTrainScalesPass[] = "train_scales";

// Whether that pass inserted the op, by its mark. Such an op reads what its quantizer's formula says,
// quantized values too, and may quantize what nothing but an update reads.
bool IsOfScaleTraining(const Op& op);

// What quantizers do in the forward part, without ops of scale training. Linear in the
// program. Errors: those of FindQuantizationSites.
absl::StatusOr<FoundRewrite> FindRewrite(const Program& program, const QuantizerTable& quantizers);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_FOUND_REWRITE_H_
