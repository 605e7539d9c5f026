// Writes down a program that shows a defect of ours, so that it can be reported.

#ifndef FIXPOINT_TOOLS_FAILING_PROGRAM_H_
#define FIXPOINT_TOOLS_FAILING_PROGRAM_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "proto/program.pb.h"
#include "tools/outputs.h"

namespace fixpoint {

// Adds to `error`, where it is kInternal, the name of a file that reproduces it: `program` as text,
// made as small as it gets while `run` gives the same first line of an error, numbers apart. Any
// other error is given back as it is. If the file cannot be written, the message says that instead.
// The file is "<stem>.failing.txt", with a number before ".txt" where that is an input or claimed.
absl::Status WithFailingProgram(const absl::Status& error, const ProgramDesc& program,
                                const std::function<absl::Status(const ProgramDesc&)>& run,
                                const std::string& stem, Outputs* outputs);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_FAILING_PROGRAM_H_
