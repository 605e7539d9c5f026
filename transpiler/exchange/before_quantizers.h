// The values that a program had before it was quantized.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_BEFORE_QUANTIZERS_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_BEFORE_QUANTIZERS_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/parameters.h"

namespace fixpoint {

// The program must outlive this, and not change.
class BeforeQuantizers {
 public:
  // Linear in the program.
  explicit BeforeQuantizers(const Program& program);

  // The value before the ops of a formula: the one of their inputs that is no parameter or, of a
  // weight, the one of its dimensions that an op read before it was quantized; states of the
  // quantizer can have these dimensions too. Sums that a multiplier and a shift requantize are those
  // that the program has.
  const Value& BeforeFormula(const Value& quantized);
  // The value before everything that quantizes it, with formulas or without; itself where nothing
  // does.
  const Value& OriginalOf(const Value& value);

  Parameters& parameters() { return parameters_; }

 private:
  bool WasRead(const Value& weight) const;

  const Era era_;
  Parameters parameters_;
  absl::flat_hash_set<std::string> rewired_;  // what arguments named before they were rewired
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_BEFORE_QUANTIZERS_H_
