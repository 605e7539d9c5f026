// What the user should know about this machine before a program computes codes on it.

#ifndef FIXPOINT_TOOLS_INTEGER_SPEED_H_
#define FIXPOINT_TOOLS_INTEGER_SPEED_H_

#include <string>

#include "proto/program/program_fwd.h"

namespace fixpoint {

// A line about the program in the file `path` if it has products of codes of 8 bits and the machine
// multiplies these more slowly than floats; else "".
std::string IntegerSpeedNote(const Program& program, const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_INTEGER_SPEED_H_
