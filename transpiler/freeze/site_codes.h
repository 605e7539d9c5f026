// The codes of a weight by the site that quantizes it, and what training stored for them.

#ifndef FIXPOINT_TRANSPILER_FREEZE_SITE_CODES_H_
#define FIXPOINT_TRANSPILER_FREEZE_SITE_CODES_H_

#include "absl/status/statusor.h"
#include "ops/affine_codes.h"
#include "ops/era.h"
#include "ops/quantizer_table.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/freeze/weight_codes.h"
#include "transpiler/pipeline/edited_parameters.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {

// The step and the zero point that training stored for an affine site. Errors: those of
// FindStoredScale; kInvalidArgument: there is no zero point, or it is no code, or the step between
// two codes is no number above 0.
absl::StatusOr<AffineParams> FindStoredAffine(const QuantizationSite& site,
                                              const EditedParameters& trained,
                                              const QuantizerTable& quantizers, Era era);

// How the codes of a weight are made: with what training stored for the site, or, if that is
// dynamic, as its quantizer finds it from the weight. The site outlives the result. Errors: those
// of FindStoredScales and FindStoredAffine.
absl::StatusOr<WeightCodesOptions> CodesOptionsOf(const QuantizationSite& site,
                                                  const EditedParameters& trained,
                                                  const QuantizerTable& quantizers, Era era);
inline absl::StatusOr<WeightCodesOptions> CodesOptionsOf(const QuantizationSite& site,
                                                         const Scope& trained,
                                                         const QuantizerTable& quantizers,
                                                         Era era) {
  return CodesOptionsOf(site, EditedParameters(&trained), quantizers, era);
}

// The codes of a weight. Errors: those of MakeWeightCodes and its siblings.
absl::StatusOr<WeightCodes> MakeSiteCodes(const QuantizationSite& site, const Tensor& weight,
                                          const WeightCodesOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_FREEZE_SITE_CODES_H_
