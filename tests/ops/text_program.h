// Programs written as text.

#ifndef FIXPOINT_TESTS_OPS_TEXT_PROGRAM_H_
#define FIXPOINT_TESTS_OPS_TEXT_PROGRAM_H_

#include <glog/logging.h>

#include <utility>

#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {

// REQUIRES: `text` is right.
inline ProgramDesc DescFromText(absl::string_view text) {
  absl::StatusOr<ProgramDesc> desc = ParseProgramText(text, "p");
  CHECK(desc.ok()) << desc.status();
  return *std::move(desc);
}

// A program named "p". REQUIRES: `text` is right.
inline Program ProgramFromText(absl::string_view text) {
  absl::StatusOr<Program> program = Program::Create(DescFromText(text), "p");
  CHECK(program.ok()) << program.status();
  return *std::move(program);
}

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_OPS_TEXT_PROGRAM_H_
