// Any text: what is accepted is the same program after it is printed and parsed again.

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/text/program_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<fixpoint::ProgramDesc> program = fixpoint::ParseProgramText(text, "fuzz");
  if (!program.ok()) return 0;
  const std::string printed = fixpoint::PrintProgram(*program);
  const absl::StatusOr<fixpoint::ProgramDesc> again = fixpoint::ParseProgramText(printed, "again");
  CHECK(again.ok()) << again.status() << "\n" << printed;
  CHECK(again->SerializePartialAsString() == program->SerializePartialAsString()) << printed;
  CHECK_EQ(fixpoint::PrintProgram(*again), printed);
  return 0;
}
