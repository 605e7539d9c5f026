// Writes a file with a program that shows a defect of ours, so that it can be reported.

#ifndef FIXPOINT_TOOLS_FAILING_PROGRAM_H_
#define FIXPOINT_TOOLS_FAILING_PROGRAM_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "proto/wire/program.pb.h"
#include "tools/outputs.h"

namespace fixpoint {

// If `error` is kInternal, adds to it the name of a file that reproduces it: `program` as text,
// reduced as far as possible while `run` returns the same first line of an error, apart from
// digits. Any other error is returned unchanged. If the file cannot be written, the message says
// that instead. The file is "<stem>.failing.txt", with a number before ".txt" where that is an
// input or claimed.
absl::Status WithFailingProgram(const absl::Status& error, const ProgramDesc& program,
                                const std::function<absl::Status(const ProgramDesc&)>& run,
                                const std::string& stem, Outputs* outputs);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_FAILING_PROGRAM_H_
