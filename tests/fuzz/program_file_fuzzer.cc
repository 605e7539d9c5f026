// Any bytes as a file: what is accepted is the same program after it is saved and loaded again.

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/file/program_file.h"
#include "proto/text/program_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  fixpoint::ProgramFileLimits limits;
  limits.max_expanded_bytes = 1 << 20;
  const absl::StatusOr<fixpoint::LoadedProgram> loaded = fixpoint::ParseProgramBytes(
      absl::string_view(reinterpret_cast<const char*>(data), size), "fuzz", limits);
  if (!loaded.ok()) return 0;
  const std::string text = fixpoint::PrintProgram(*loaded->program);
  for (const std::string& saved : {loaded->program->SerializeAsString(), text}) {
    const absl::StatusOr<fixpoint::LoadedProgram> again =
        fixpoint::ParseProgramBytes(saved, "again", limits);
    CHECK(again.ok()) << again.status() << "\n" << text;
    CHECK_EQ(fixpoint::PrintProgram(*again->program), text);
  }
  return 0;
}
