// The ops of frozen programs: quantize_linear and dequantize_linear of the portable form, those of
// codes with a zero point, and the older dequantize ops.

#ifndef FIXPOINT_TRANSPILER_FREEZE_LINEAR_OPS_H_
#define FIXPOINT_TRANSPILER_FREEZE_LINEAR_OPS_H_

#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {

// The codes, as FP32, that the site's quantize op computes; every attribute is written, because the
// ops' defaults differ.
OpDesc MakeQuantizeLinear(const QuantizationSite& site, absl::string_view x,
                          absl::string_view scale, absl::string_view zero_point,
                          absl::string_view y);
OpDesc MakeDequantizeLinear(const QuantizationSite& site, absl::string_view x,
                            absl::string_view scale, absl::string_view zero_point,
                            absl::string_view y);

// The same of codes with one step, `scale`, and a zero point.
OpDesc MakeQuantizeAffine(const QuantizationSite& site, absl::string_view x,
                          absl::string_view scale, absl::string_view zero_point,
                          absl::string_view out);
OpDesc MakeDequantizeAffine(absl::string_view x, absl::string_view scale,
                            absl::string_view zero_point, absl::string_view out);

// The older dequantize op with one scale, or one per channel.
OpDesc MakeLegacyDequantize(const QuantizationSite& site, absl::string_view x,
                            absl::string_view scale, absl::string_view out);

// Gives an op that replaces `replaced` its role, and the mark of the pass.
OpDesc InPlaceOf(const Op& replaced, absl::string_view pass, OpDesc op);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_LINEAR_OPS_H_
