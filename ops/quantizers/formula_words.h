// What the ops of a quantizer's text can say beside what ops of programs say
// (docs/quantizer_text.md).

#ifndef FIXPOINT_OPS_QUANTIZERS_FORMULA_WORDS_H_
#define FIXPOINT_OPS_QUANTIZERS_FORMULA_WORDS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// The ops by which formulas quantize: at a range, or with a step and a zero point. What they read
// is in kScaleSlot and, with a zero point, in kZeroPointSlot.
inline constexpr char kQuantizeAtRange[] = "fake_quantize_dequantize_at_range";
inline constexpr char kQuantizeAffine[] = "fake_quantize_dequantize_affine";
inline constexpr char kScaleSlot[] = "InScale";
inline constexpr char kZeroPointSlot[] = "InZeroPoint";
bool QuantizesFormula(const OpDesc& op);

// Names that stand for numbers of the spec and the value, read as [1] or, as "$largest", as an
// attribute: the bits, the largest and the lowest code, and kCount, how many elements share a range
// (of an activation, in one sample), which cannot be an attribute.
inline constexpr absl::string_view kBits = "bits";
inline constexpr absl::string_view kCount = "count";
absl::Span<const absl::string_view> NumbersOfSpec();
bool IsNumberOfSpec(absl::string_view name);

// The op of forward sections whose result has the gradient of its input times Factor [1].
inline constexpr char kScaleGradient[] = "scale_gradient";
// BOOLEAN attributes of the ops of forward sections: rounding has the gradient 1; no gradient
// passes.
inline constexpr char kStraightThroughAttr[] = "straight_through";
inline constexpr char kStopGradientAttr[] = "stop_gradient";

// The op without these attributes.
OpDesc WithoutWords(OpDesc op);

// An op of a section as its schema has it (ops/written_op.h), with the words above. Error
// (kInvalidArgument), without the place: what ReadWrittenOp refuses; an attribute that the op must
// carry is absent; a word that is not for the op, or not for the section, whose ops have a gradient
// or have none; an op that quantizes says what the spec does.
absl::StatusOr<OpDesc> ReadFormulaOp(const OpDesc& op, bool has_gradient);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_FORMULA_WORDS_H_
