#include "runtime/training/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "runtime/checksum.h"
#include "runtime/npz.h"
#include "runtime/staged_directory.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

constexpr char kStateFile[] = "state.textproto";
constexpr char kValuesFile[] = "values.npz";
constexpr char kStepPrefix[] = "step-";
// The prefix that AtomicFile and StagedDirectory give to the names of what is incomplete or being
// removed.
constexpr char kUnfinishedPrefix[] = ".fixpoint-";

std::string Described(const Scope::Value& value) {
  const Tensor* tensor = std::get_if<Tensor>(&value);
  if (tensor == nullptr) return "selected rows";
  return absl::StrCat(VarType::Type_Name(tensor->dtype()), " ", DimsText(tensor->dims()));
}

// The step of a checkpoint's name; -1 of another name.
int64_t StepOf(absl::string_view name) {
  int64_t step = 0;
  const bool is_step = absl::ConsumePrefix(&name, kStepPrefix) && absl::SimpleAtoi(name, &step) &&
                       step >= 0 && absl::StrCat(step) == name;
  return is_step ? step : -1;
}

absl::Status Append(const std::string& name, StagedDirectory* folder,
                    const std::function<absl::Status(const ByteSink&)>& write) {
  ASSIGN_OR_RETURN(AtomicFile file, folder->CreateFile(name));
  RETURN_IF_ERROR(write([&](absl::string_view bytes) { return file.Append(bytes); }));
  return file.Commit();
}

}  // namespace

uint64_t ChecksumOf(const Program& program) {
  const std::string bytes = program.Proto().SerializeAsString();
  return ChecksumOf({{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}});
}

absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.path = path;
  const std::string state_file = absl::StrCat(path, "/", kStateFile);
  RETURN_IF_ERROR(LoadTextMessage(state_file, &checkpoint.state));
  if (!checkpoint.state.has_step() || checkpoint.state.step() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(state_file, ": its step is missing, or below 0"));
  }
  ASSIGN_OR_RETURN(checkpoint.scope, LoadNpz(absl::StrCat(path, "/", kValuesFile)));
  return checkpoint;
}

absl::Status CheckIsOfRun(const Checkpoint& checkpoint, const TrainingState& run,
                          const Scope& initial) {
  const TrainingState& state = checkpoint.state;
  const auto refuse = [&](absl::string_view what, const auto& was, const auto& is) {
    return absl::InvalidArgumentError(absl::StrCat(checkpoint.path, ": belongs to a run with ",
                                                   what, " ", was, ", and this one has ", is,
                                                   "; want the same"));
  };
  if (state.program_checksum() != run.program_checksum()) {
    return refuse("another program,", state.program(), run.program());
  }
  if (state.data_checksum() != run.data_checksum()) {
    return refuse("other data,", state.data(), run.data());
  }
  if (state.seed() != run.seed()) return refuse("seed", state.seed(), run.seed());
  if (state.batch_size() != run.batch_size()) {
    return refuse("batch size", state.batch_size(), run.batch_size());
  }
  if (state.augment_padding() != run.augment_padding()) {
    return refuse("images padded by", state.augment_padding(), run.augment_padding());
  }
  if (state.augment_flip() != run.augment_flip()) {
    const auto flips = [](bool flip) { return flip ? "half of them" : "none"; };
    return refuse("images mirrored:", flips(state.augment_flip()), flips(run.augment_flip()));
  }
  if (state.learning_rate() != run.learning_rate()) {
    const auto rate = [](const TrainingState& of) {
      return of.has_learning_rate() ? of.learning_rate() : "that of the program";
    };
    return refuse("the learning rate", rate(state), rate(run));
  }
  if (state.keep_best() != run.keep_best()) {
    const auto kept = [](const TrainingState& of) {
      return of.has_keep_best() ? of.keep_best() : "no metric";
    };
    return refuse("the best kept by", kept(state), kept(run));
  }
  if (state.eval_data_checksum() != run.eval_data_checksum()) {
    return refuse("other data to evaluate on,", state.eval_data_checksum(),
                  run.eval_data_checksum());
  }
  if (state.eval_program_checksum() != run.eval_program_checksum()) {
    return refuse("another program to evaluate,", state.eval_program_checksum(),
                  run.eval_program_checksum());
  }
  if (state.save() != run.save()) {
    return refuse("its best parameters in", state.save(), run.save());
  }
  // Another precision, backend or number of threads gives other bits.
  if (state.backward() != run.backward()) {
    return refuse("a backward pass in", state.backward(), run.backward());
  }
  if (state.backend() != run.backend()) return refuse("backend", state.backend(), run.backend());
  if (state.threads() != run.threads()) return refuse("threads", state.threads(), run.threads());
  for (const auto& [name, value] : initial) {
    const Scope::Value* stored = checkpoint.scope.FindOrNull(name);
    const std::string is = stored == nullptr ? "not there" : Described(*stored);
    if (is == Described(value)) continue;
    return absl::InvalidArgumentError(absl::StrCat(checkpoint.path, "/", kValuesFile,
                                                   ": variable \"", name, "\" is ", is, "; want ",
                                                   Described(value)));
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckpointFolder> CheckpointFolder::Open(const std::string& path, int keep) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return CannotBeWritten(path, error);
  std::vector<fs::path> unfinished;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (absl::StartsWith(entry.path().filename().string(), kUnfinishedPrefix)) {
      unfinished.push_back(entry.path());
    }
  }
  for (const fs::path& entry : unfinished) {
    if (!error) fs::remove_all(entry, error);
  }
  if (error) return CannotBeWritten(path, error);
  return CheckpointFolder(path, keep);
}

std::string CheckpointFolder::PathOf(int64_t step) const {
  return absl::StrCat(path_, "/", kStepPrefix, step);
}

absl::StatusOr<std::vector<int64_t>> CheckpointFolder::Steps() const {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const int64_t step = StepOf(entry.path().filename().string());
    if (step >= 0) steps.push_back(step);
  }
  if (error) return CannotBeWritten(path_, error);
  std::sort(steps.begin(), steps.end());
  return steps;
}

absl::Status CheckpointFolder::Write(const TrainingState& state, const Scope& scope) {
  const std::string path = PathOf(state.step());
  std::error_code error;
  // The same step has the same values.
  if (fs::exists(path, error)) return absl::OkStatus();
  // Runs that were killed may have left one too many each.
  RETURN_IF_ERROR(RemoveOldest());
  ASSIGN_OR_RETURN(StagedDirectory folder, StagedDirectory::Create(path));
  RETURN_IF_ERROR(Append(kStateFile, &folder,
                         [&](const ByteSink& sink) { return sink(PrintTextMessage(state)); }));
  RETURN_IF_ERROR(
      Append(kValuesFile, &folder, [&](const ByteSink& sink) { return WriteNpz(scope, sink); }));
  RETURN_IF_ERROR(folder.Commit());
  return RemoveOldest();
}

absl::Status CheckpointFolder::RemoveOldest() {
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, Steps());
  const int too_many = static_cast<int>(steps.size()) - keep_;
  for (int i = 0; i < too_many; ++i) {
    // Renamed first: a process that is killed on the way leaves no half of a checkpoint.
    const std::string path = PathOf(steps[i]);
    const fs::path removed =
        fs::path(path_) / absl::StrCat(kUnfinishedPrefix, getpid(), "-", kStepPrefix, steps[i]);
    std::error_code error;
    fs::rename(path, removed, error);
    if (!error) fs::remove_all(removed, error);
    if (error) return CannotBeWritten(path, error);
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
