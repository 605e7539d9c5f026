// The name of the pass that quantizes.

#ifndef FIXPOINT_TRANSPILER_PLAN_QUANTIZING_PASS_H_
#define FIXPOINT_TRANSPILER_PLAN_QUANTIZING_PASS_H_

namespace fixpoint {

// The pass that inserts quantizers, and so the mark of their ops (transpiler/pipeline/marks.h).
inline constexpr char kQuantizingPass[] = "insert_quantizers";

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_QUANTIZING_PASS_H_
