// Declares the persistable variables of quantizers, and records their initial values.

#ifndef FIXPOINT_TRANSPILER_TRAIN_STATE_WRITER_H_
#define FIXPOINT_TRANSPILER_TRAIN_STATE_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/quantizer.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"
#include "transpiler/plan/plan.h"
#include "transpiler/train/train_context.h"

namespace fixpoint {

// What the quantizer of a site is asked for its ops with.
QuantizerUse UseOf(const Site& site, Era era);

class StateWriter {
 public:
  // REQUIRES: all outlive the writer.
  StateWriter(Program* program, TrainContext* context, Rewriter* rewriter)
      : program_(*program), context_(*context), rewriter_(*rewriter) {}

  // Declares one state of a site's quantizer, unless that is done, with a name that begins with the
  // value's; returns the name.
  absl::StatusOr<std::string> Add(const Site& site, const Quantizer& quantizer,
                                  const QuantizerState& state);
  // Declares a tensor in block 0, where all persistable variables live, with a name that is new in
  // both programs; returns its name.
  absl::StatusOr<std::string> Declare(const std::string& base, VarType::Type dtype,
                                      const std::vector<int64_t>& dims, double initial_value);

 private:
  Program& program_;
  TrainContext& context_;
  Rewriter& rewriter_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_STATE_WRITER_H_
