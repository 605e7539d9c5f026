#include "tests/ops/reference_program.h"

#include <glog/logging.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {

std::vector<ReferenceProgram> LoadReferencePrograms(absl::string_view part) {
  std::vector<ReferenceProgram> programs;
  for (const std::string& path : ReferencePrograms()) {
    // One is of the layout before February 2018.
    if (!absl::StrContains(path, part) || absl::StrContains(path, "NOT_PARSEABLE")) continue;
    ProgramDesc desc;
    CHECK(desc.ParseFromString(ReadFileOrDie(path))) << path;
    absl::StatusOr<Program> program =
        Program::Create(std::move(desc), path.substr(path.rfind('/') + 1));
    CHECK(program.ok()) << program.status();
    programs.push_back({path, *std::move(program)});
  }
  return programs;
}

std::string StartupOf(absl::string_view training) {
  return absl::StrReplaceAll(training, {{"train_main", "train_startup"}});
}

}  // namespace fixpoint
