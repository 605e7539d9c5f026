// What the fuzz targets of the transpiler share: a program to rewrite, and what must hold whatever
// it is rewritten with.

#ifndef FIXPOINT_TESTS_FUZZ_REWRITING_H_
#define FIXPOINT_TESTS_FUZZ_REWRITING_H_

#include "proto/program/program_fwd.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {

// A convolution, a product, an addition and a loop, with gradients and an optimizer.
const Program& SmallTrainingProgram();

// Transpiles a copy of the program: an error leaves it as it was, a success is undone to the same
// bytes.
void TranspileAndUndo(const Program& program, const TranspileOptions& options);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_FUZZ_REWRITING_H_
