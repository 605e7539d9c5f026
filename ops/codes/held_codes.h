// Which codes are held in 8 bits, from which products, sums and lookups are computed, and which in
// 16, from which products are. The executor's plan notes the values that it holds so
// (plan_builder.h), and lowering writes integer_dequantize where such codes are read as floats;
// both ask here of what an op quantizes. Tensors that are INT8 already are held as they are.

#ifndef FIXPOINT_OPS_CODES_HELD_CODES_H_
#define FIXPOINT_OPS_CODES_HELD_CODES_H_

#include <optional>

#include "ops/code_ops.h"
#include "ops/code_range.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {

// The codes that are held of those that a quantizer makes: all of them where they have 8 bits, and
// the ones from 0 on where those have 8 bits and the floats are never negative
// (ops/never_negative.h). They are unsigned, and held as UINT8, or signed, and held as INT8.
// Nothing where they do not fit in 8 bits: the value is then kept in floats.
std::optional<CodeRange> CodesHeldOf(const CodeRange& made, bool is_never_negative);
// The same for the codes that an op makes or reads: nothing also where it gives other floats than
// those that they stand for.
std::optional<CodeRange> CodesHeldOf(const CodeOp& op, bool is_never_negative);
// The same for the codes that the ops of a spec make. REQUIRES: that of CodeRangeOf.
std::optional<CodeRange> CodesHeldOf(const QuantSpec& spec, bool is_never_negative);

// The codes that an op makes or reads where 8 bits do not hold them and INT16 does: only products
// read them as integers. Nothing where 8 bits hold them, where they have a zero point, and where
// the op gives other floats than those that they stand for.
std::optional<CodeRange> WideCodesOf(const CodeOp& op, bool is_never_negative);
// The same for the codes that the ops of a spec make. REQUIRES: that of CodeRangeOf.
std::optional<CodeRange> WideCodesOf(const QuantSpec& spec, bool is_never_negative);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_HELD_CODES_H_
