// Programs that tell less of what was done to them, in tests.

#ifndef FIXPOINT_TESTS_TESTING_WITHOUT_MARKS_H_
#define FIXPOINT_TESTS_TESTING_WITHOUT_MARKS_H_

#include <algorithm>

#include "absl/strings/match.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "proto/wire/program.pb.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {

// The program without the attributes of our own of the ops in block 0. REQUIRES: its text is a
// program.
inline Program WithoutMarks(const Program& program) {
  ProgramDesc desc = program.Proto();
  for (OpDesc& op : *desc.mutable_blocks(0)->mutable_ops()) {
    auto& attrs = *op.mutable_attrs();
    attrs.erase(std::remove_if(attrs.begin(), attrs.end(),
                               [](const OpDesc::Attr& attr) {
                                 return absl::StartsWith(attr.name(), "fixpoint.");
                               }),
                attrs.end());
  }
  return ParsedProgram(PrintProgram(desc));
}

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_WITHOUT_MARKS_H_
