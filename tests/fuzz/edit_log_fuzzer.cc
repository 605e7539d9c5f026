// Any text as the edit log of a rewritten program: it is undone to a program that can be saved and
// loaded, or it is refused and the program is as before.

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/file/program_file.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "proto/wire/fingerprint.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/rewriting.h"

namespace fixpoint {
namespace {

// The small program as a transpile leaves it, without its log.
const Program& Rewritten() {
  static const Program& rewritten = *new Program([] {
    Program program = SmallTrainingProgram().Clone();
    const absl::StatusOr<TranspileResult> result = Transpile(&program);
    CHECK(result.ok()) << result.status();
    program.ClearEditLog();
    return program;
  }());
  return rewritten;
}

}  // namespace
}  // namespace fixpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  fixpoint::EditLog log;
  if (!fixpoint::ParseTextMessage(text, "fuzz", &log).ok()) return 0;
  fixpoint::Program program = fixpoint::Rewritten().Clone();
  log.set_fingerprint(fixpoint::Fingerprint(program.Proto(), log));
  *program.mutable_edit_log() = log;
  const std::string before = program.Proto().SerializeAsString();
  const absl::Status undone = fixpoint::Untranspile(&program);
  if (!undone.ok()) {
    fixpoint::CheckIsInputError(undone);
    CHECK(program.Proto().SerializeAsString() == before);
    return 0;
  }
  const absl::StatusOr<fixpoint::LoadedProgram> loaded =
      fixpoint::ParseProgramBytes(program.Proto().SerializeAsString(), "undone");
  CHECK(loaded.ok()) << loaded.status();
  const auto again = fixpoint::Program::Create(*loaded->program, "undone");
  CHECK(again.ok()) << again.status() << "\n" << fixpoint::PrintProgram(program.Proto());
  return 0;
}
