// The sum with a bias after a product, as networks have it from their layers: an op of its own,
// which adds one number to each channel.

#ifndef FIXPOINT_OPS_CODES_BIAS_SUM_H_
#define FIXPOINT_OPS_CODES_BIAS_SUM_H_

#include <optional>

#include "ops/codes/run_facts.h"
#include "ops/dims.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

struct BiasSum {
  const Op* op = nullptr;
  const Argument* bias = nullptr;    // whose dims are declared; perhaps no parameter
  const Argument* output = nullptr;  // with a value
};

// The only reader of a result with these dims, if that is such a sum. The channel axis has extents.
std::optional<BiasSum> FindBiasSum(const Value& result, const Dims& dims, int channel_axis,
                                   const RunFacts& facts);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_BIAS_SUM_H_
