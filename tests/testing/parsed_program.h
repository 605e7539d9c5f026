// Programs from their text, in tests.

#ifndef FIXPOINT_TESTS_TESTING_PARSED_PROGRAM_H_
#define FIXPOINT_TESTS_TESTING_PARSED_PROGRAM_H_

#include <glog/logging.h>

#include <utility>

#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {

// REQUIRES: the text is a program.
inline Program ParsedProgram(absl::string_view text) {
  auto desc = ParseProgramText(text, "program.txt");
  CHECK(desc.ok()) << desc.status();
  auto program = Program::Create(*std::move(desc), "program.txt");
  CHECK(program.ok()) << program.status();
  return *std::move(program);
}

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_PARSED_PROGRAM_H_
