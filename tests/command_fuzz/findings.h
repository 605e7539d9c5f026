// Findings in a folder, each with everything needed to reproduce it.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_FINDINGS_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_FINDINGS_H_

#include <cstdint>
#include <string>

#include "tests/command_fuzz/limited_run.h"
#include "tests/command_fuzz/made_data.h"

namespace fixpoint {

struct Finding {
  std::string wrong;      // judge.h
  std::string signature;  // likewise
  uint64_t seed = 0;
  uint64_t run = 0;
  ToolCommand command;
  ToolRun result;
  Files files;  // before the command
};

// Writes a finding to a sub-folder of `folder`: `files`, the script `command` that runs it on a
// copy of them (with the tools' folder as its argument), and `report`. Only the first three
// findings with one signature are kept. Returns whether this one was; safe for several processes at
// once.
bool KeepFinding(const std::string& folder, const Finding& finding);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_FINDINGS_H_
