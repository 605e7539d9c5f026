// Runs programs on our backends, one for each line of standard input: a process for each would take
// longer to begin than most of them run. A line is "types BACKEND", answered by the op types that
// it runs, or "run BACKEND FOLDER". Of that folder it reads
//
//   program.pdmodel   the program
//   scope.npz         what the scope holds when the first run begins
//   feeds.<i>.npz     what run i is fed; there are as many runs as such files
//   lod               the offsets of sequences that feeds have, since no array file holds any: a
//                     line is a name and, for each level, "0,2,3"
//   fetches           names, one on a line
//
// and in it writes fetched.<i>.npz of each run, fetched.<i>.lod with the offsets of that, and
// left.npz, the scope after the last. The answer is a line: "done", or "failed: " and why.

#include <glog/logging.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/backends.h"
#include "runtime/executor/op_plans.h"
#include "runtime/npz.h"
#include "runtime/reference/kernels.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

absl::Status Write(const Scope& scope, const std::string& path) {
  ASSIGN_OR_RETURN(AtomicFile file, StageNpz(scope, path));
  return file.Commit();
}

// By name. REQUIRES: the file is as is said above.
std::map<std::string, LoD> LodsOf(const std::string& path) {
  std::map<std::string, LoD> lods;
  for (const std::string& line : LinesOf(path)) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    for (size_t level = 1; level < words.size(); ++level) {
      std::vector<uint64_t>& offsets = lods[words[0]].emplace_back();
      for (const absl::string_view offset : absl::StrSplit(words[level], ',')) {
        CHECK(absl::SimpleAtoi(offset, &offsets.emplace_back())) << line;
      }
    }
  }
  return lods;
}

// Takes the offsets away, and writes them to a file.
void WriteLods(const std::vector<std::string>& names, absl::Span<Tensor> tensors,
               const std::string& path) {
  std::ofstream file(path);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].lod().empty()) continue;
    file << names[i];
    for (const std::vector<uint64_t>& offsets : tensors[i].lod()) {
      file << " " << absl::StrJoin(offsets, ",");
    }
    file << "\n";
    tensors[i].set_lod({});
  }
}

absl::Status RunFolder(BackendKind kind, const std::string& folder) {
  ASSIGN_OR_RETURN(LoadedProgram loaded, LoadProgram(folder + "/program.pdmodel"));
  ASSIGN_OR_RETURN(const Program program, Program::Create(std::move(loaded.program)));
  ASSIGN_OR_RETURN(Scope scope, LoadNpz(folder + "/scope.npz"));
  ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, MakeBackend(kind, program, &scope));
  const std::vector<std::string> fetches = LinesOf(folder + "/fetches");
  const std::map<std::string, LoD> lods = LodsOf(folder + "/lod");
  for (uint32_t step = 0;; ++step) {
    const std::string path = absl::StrCat(folder, "/feeds.", step, ".npz");
    if (!std::filesystem::exists(path)) break;
    ASSIGN_OR_RETURN(Scope fed, LoadNpz(path));
    for (const auto& [name, lod] : lods) std::get<Tensor>(*fed.FindOrNull(name)).set_lod(lod);
    std::vector<Feed> feeds;
    for (const auto& [name, value] : fed) feeds.push_back({name, &std::get<Tensor>(value)});
    ASSIGN_OR_RETURN(std::vector<Tensor> values, backend->Run(feeds, fetches, step));
    WriteLods(fetches, absl::MakeSpan(values), absl::StrCat(folder, "/fetched.", step, ".lod"));
    Scope fetched;
    for (size_t i = 0; i < fetches.size(); ++i) fetched.Set(fetches[i], std::move(values[i]));
    RETURN_IF_ERROR(Write(fetched, absl::StrCat(folder, "/fetched.", step, ".npz")));
  }
  return Write(scope, folder + "/left.npz");
}

std::string AnswerTo(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
  CHECK_GE(words.size(), 2) << line;
  const absl::StatusOr<BackendKind> kind = BackendOfName(words[1]);
  CHECK(kind.ok()) << kind.status();
  if (words[0] == "types") {
    return absl::StrJoin(
        *kind == BackendKind::kOneDnn ? executor::TypesWithPlan() : reference::TypesWithKernel(),
        " ");
  }
  CHECK(words[0] == "run" && words.size() == 3) << line;
  const absl::Status status = RunFolder(*kind, words[2]);
  if (status.ok()) return "done";
  return absl::StrCat("failed: ", absl::StrReplaceAll(status.message(), {{"\n", " "}}));
}

}  // namespace
}  // namespace fixpoint

int main(int /*argc*/, char** argv) {
  google::InitGoogleLogging(argv[0]);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << fixpoint::AnswerTo(line) << std::endl;
  }
}
