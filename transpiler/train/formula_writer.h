// The formula of a quantizer, written beside its quantize op.

#ifndef FIXPOINT_TRANSPILER_TRAIN_FORMULA_WRITER_H_
#define FIXPOINT_TRANSPILER_TRAIN_FORMULA_WRITER_H_

#include "absl/status/status.h"
#include "ops/quantizer.h"
#include "proto/program/op_builder.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "transpiler/train/site_ops.h"
#include "transpiler/train/state_writer.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {

class FormulaWriter {
 public:
  // REQUIRES: all outlive the writer.
  FormulaWriter(const Program* program, TrainContext* context, StateWriter* state, SiteOps* ops)
      : program_(*program), context_(*context), state_(*state), ops_(*ops) {}

  // Inserts the ops that give states their first values, and those that compute what the quantize
  // op reads, which is named in its slots. Errors (kInvalidArgument): the ops contradict what they
  // read; (kFailedPrecondition): the range is computed from what only training finds.
  absl::Status Write(SiteWriting& writing, const QuantizerForward& forward, OpBuilder& quantize);
  // Error (kInvalidArgument): the quantize op contradicts what it reads, or gives no value like the
  // site's.
  absl::Status Check(const SiteWriting& writing, const OpDesc& quantize) const;

 private:
  absl::Status WriteInitialValues(SiteWriting& writing);
  // Whether the startup program computes states of the site from the weight.
  bool StartsFromWeight(const Site& site) const;
  absl::Status CheckIsKnownWithoutTraining(const SiteWriting& writing) const;

  const Program& program_;
  TrainContext& context_;
  StateWriter& state_;
  SiteOps& ops_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_FORMULA_WRITER_H_
