// What a run of a tool must not do, whatever its input.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_JUDGE_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_JUDGE_H_

#include <optional>
#include <string>

#include "tests/command_fuzz/limited_run.h"
#include "tests/command_fuzz/made_data.h"

namespace fixpoint {

// Nothing if the run was right, else what was wrong: "signal 11", "exit 70", "a hang", "exit 9",
// "memory", "a sanitizer's report", "no message", "files were changed", "no output". `before` and
// `after` are the files of the folder.
std::optional<std::string> WhatIsWrong(const ToolCommand& command, const ToolRun& run,
                                       const Files& before, const Files& after);

// What findings of one cause have in common: the tool, what was wrong, and the message (or the
// first frames of a sanitizer's report) without its names and numbers.
std::string SignatureOf(const ToolCommand& command, const ToolRun& run, const std::string& wrong);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_JUDGE_H_
