// Checkpoints: what a training run needs to continue as if it had not been interrupted. A
// checkpoint is a folder, which appears whole or not at all:
//
//   values.npz       every variable of the scope (runtime/npz.h)
//   state.textproto  where the run is, and what it is made of (proto/config/training_state.proto)
//
// A CheckpointFolder keeps the last of them, as step-100, step-200, ...

#ifndef FIXPOINT_RUNTIME_TRAINING_CHECKPOINT_H_
#define FIXPOINT_RUNTIME_TRAINING_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config/training_state.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint {

struct Checkpoint {
  std::string path;
  TrainingState state;
  Scope scope;
};

// A checksum by which a program is recognised (runtime/checksum.h).
uint64_t ChecksumOf(const Program& program);

// Errors start with the file: those of LoadTextMessage and LoadNpz; kInvalidArgument: the state has
// no step, or one below 0.
absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path);

// Whether a run can continue from a checkpoint. `run` is the state of the run, `initial` the scope
// that it would start with. Error (kInvalidArgument) with the checkpoint's path: it belongs to
// another run, and to which program or data; or it lacks a variable, or has it with another type or
// shape.
absl::Status CheckIsOfRun(const Checkpoint& checkpoint, const TrainingState& run,
                          const Scope& initial);

// The checkpoints of one run. No two processes use a folder at once.
class CheckpointFolder {
 public:
  // Creates the folder if there is none, and removes what a killed run has left half written or
  // half removed. `keep`: how many checkpoints stay, 1 or more. Error (kUnavailable): the folder
  // cannot be written.
  static absl::StatusOr<CheckpointFolder> Open(const std::string& path, int keep);

  // The steps for which there is a checkpoint, in ascending order.
  absl::StatusOr<std::vector<int64_t>> Steps() const;
  std::string PathOf(int64_t step) const;

  // Writes one, synced, and before and after that removes the oldest ones beyond `keep`. Whenever
  // the process is killed, each checkpoint is complete or absent, those to be kept are there, and
  // at most one is too many. Errors: kUnavailable; kUnimplemented for selected rows and for types
  // that NumPy lacks.
  absl::Status Write(const TrainingState& state, const Scope& scope);

 private:
  CheckpointFolder(std::string path, int keep) : path_(std::move(path)), keep_(keep) {}

  absl::Status RemoveOldest();

  std::string path_;
  int keep_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_TRAINING_CHECKPOINT_H_
