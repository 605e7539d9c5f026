// A calibration from the first sample to the profile, which can be killed and go on from what it
// has saved.

#ifndef FIXPOINT_RUNTIME_CALIBRATION_CALIBRATION_RUN_H_
#define FIXPOINT_RUNTIME_CALIBRATION_CALIBRATION_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/calibration/calibrator.h"
#include "runtime/data/batcher.h"
#include "runtime/data/sample_set.h"
#include "runtime/scope.h"
#include "runtime/training/fed_batches.h"
#include "runtime/training/network_variables.h"

namespace fixpoint {

struct CalibrationRunOptions {
  CalibrationOptions calibration;
  NetworkVariables variables;
  std::string data_name;  // for readers of the profile
  int64_t samples = 300;  // at most; the first of those that the seed orders
  uint64_t seed = 0;
  int64_t batch_size = 1;  // samples that are read, and given to the threads, at a time
  // The file in which the profile so far is saved every so many samples; none if that is 0.
  std::string saved;
  int64_t save_every = 0;
};

class CalibrationRun {
 public:
  // All that is pointed to outlives the run. Errors: those of Calibrator::Create, with the name of
  // the program; those of FedBatches::Create and SampleSet::Checksum.
  static absl::StatusOr<std::unique_ptr<CalibrationRun>> Create(
      const Program& program, Scope* parameters, const SampleSet* set,
      const CalibrationRunOptions& options);

  // How many samples have run, and how many will.
  int64_t done() const { return profile_.samples(0).ids_size(); }
  int64_t samples() const { return samples_; }

  // Goes on from what was saved, if anything was. Errors start with its file: those of
  // LoadTextMessage and Calibrator::Continue; kInvalidArgument: it is of another run. REQUIRES:
  // nothing has run.
  absl::Status Resume();

  // Runs the samples that have not run yet. `after_each` is called after each batch of them.
  // Errors: those of Calibrator::Run, with the name of the program; those of Batcher::Next;
  // kUnavailable: it cannot be saved.
  absl::Status Run(const std::function<void()>& after_each);

  // The profile of the samples so far.
  const RangeProfile& Profile();

  // What a user should know of the profile that Profile has made.
  std::vector<std::string> Notes() const;

 private:
  CalibrationRun(const CalibrationRunOptions& options, std::string program,
                 std::unique_ptr<Calibrator> calibrator, FedBatches source, int64_t samples,
                 RangeProfile profile)
      : options_(options),
        program_(std::move(program)),
        calibrator_(std::move(calibrator)),
        source_(std::move(source)),
        samples_(samples),
        profile_(std::move(profile)) {}

  // Replaces the samples that were read before by the next ones.
  absl::StatusOr<std::vector<CalibrationSample>> Read(int64_t count);

  const CalibrationRunOptions options_;
  const std::string program_;  // its name
  std::unique_ptr<Calibrator> calibrator_;
  FedBatches source_;  // of one sample each
  std::vector<Batch> batches_;
  int64_t samples_;
  RangeProfile profile_;  // with the ids of the samples that ran
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_CALIBRATION_CALIBRATION_RUN_H_
