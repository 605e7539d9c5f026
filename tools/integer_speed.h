// What the user should know about the speed of codes on this machine.

#ifndef FIXPOINT_TOOLS_INTEGER_SPEED_H_
#define FIXPOINT_TOOLS_INTEGER_SPEED_H_

#include <string>

#include "runtime/backend.h"

namespace fixpoint {

// The instructions that products are computed with: "AVX2 without VNNI".
std::string InstructionsText();

// A line about the program in the file `path` if some of its products of codes of 8 bits are slower
// on this machine than products of floats; else "".
std::string IntegerSpeedNote(const CodedProducts& products, const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INTEGER_SPEED_H_
