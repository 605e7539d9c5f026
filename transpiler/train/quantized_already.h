// Recognises programs that are already quantized.

#ifndef FIXPOINT_TRANSPILER_TRAIN_QUANTIZED_ALREADY_H_
#define FIXPOINT_TRANSPILER_TRAIN_QUANTIZED_ALREADY_H_

#include <string>

#include "proto/program/program_fwd.h"

namespace fixpoint {

// A sentence about what quantized the program: Fixpoint, by its marks, or another tool, by its
// fake-quantize and dequantize ops. "" if it is not quantized. Observers do not count.
std::string WhoQuantized(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_TRAIN_QUANTIZED_ALREADY_H_
