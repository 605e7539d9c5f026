// The variables whose ranges quantizing a program may need.

#ifndef FIXPOINT_RUNTIME_CALIBRATION_OBSERVED_VARIABLES_H_
#define FIXPOINT_RUNTIME_CALIBRATION_OBSERVED_VARIABLES_H_

#include <string>
#include <vector>

#include "proto/program/program_fwd.h"

namespace fixpoint {

enum class ObservedOutputs {
  kNone,
  kAll,  // of ops whose outputs a target may observe (QuantConfig::observe_outputs)
};

// Names, in the order of the program, of the variables that are not persistable and hold floats
// that some target may quantize: what quantize ops and observers of a quantized program read, and
// in a float program what ops read in slots that can be quantized, whatever is quantized of it
// later. What dequantize ops write is not among them.
std::vector<std::string> FindObservedVariables(const Program& program, ObservedOutputs outputs);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_CALIBRATION_OBSERVED_VARIABLES_H_
