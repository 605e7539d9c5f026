// How NNI quantizes one target of a layer, as a spec.

#ifndef FIXPOINT_TRANSPILER_EXCHANGE_NNI_SPEC_H_
#define FIXPOINT_TRANSPILER_EXCHANGE_NNI_SPEC_H_

#include "absl/status/statusor.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {

struct NniSpec {
  bool is_weight = false;
  int bits = 8;
  bool is_unsigned = true;  // codes 0 to 2^bits - 1; else -2^(bits-1) + 1 to 2^(bits-1) - 1
  bool is_affine = true;
  bool is_per_channel = false;  // each output channel of a weight
};

// The quantizer that finds ranges as NNI's does: of weights from their elements, of activations as
// a moving average that keeps 0.99. Error (kUnimplemented), without a place: there is none.
absl::StatusOr<QuantSpec> SpecOfNni(const NniSpec& nni);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXCHANGE_NNI_SPEC_H_
