// Runs a program on samples and follows how its values are distributed.
//
// A sample runs alone, as a batch of one on one thread, so that its values do not depend on what
// runs beside it: sums of floats do depend on batches and threads. Samples are spread over the
// threads. What does not depend on the order of samples is counted by each thread for itself; what
// does is taken in afterwards, in their order. So the statistics are the same to the bit for any
// number of threads, however samples are grouped into calls, and in a run that was continued.

#ifndef FIXPOINT_RUNTIME_CALIBRATION_CALIBRATOR_H_
#define FIXPOINT_RUNTIME_CALIBRATION_CALIBRATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/executor/constants.h"
#include "runtime/loop_bound.h"
#include "runtime/scope.h"
#include "runtime/statistics/range_profile.h"

namespace fixpoint {

struct CalibrationOptions {
  // Names of variables: for what ops run, and whose values are followed.
  std::vector<std::string> outputs;
  std::vector<std::string> observed;
  int threads = 1;
  int64_t max_iterations = kDefaultMaxIterations;  // of the loops of one run
};

struct CalibrationSample {
  int64_t id = 0;           // for messages
  std::vector<Feed> feeds;  // a batch of one sample
};

class Calibrator {
 public:
  // The program is one of inference; it and the parameters outlive the calibrator. Errors: those of
  // CheckWritesNoParameters (shared_program.h), CheckThreadCount and Executor::Create.
  static absl::StatusOr<std::unique_ptr<Calibrator>> Create(const Program& program,
                                                            Scope* parameters,
                                                            const CalibrationOptions& options);
  Calibrator(const Calibrator&) = delete;
  Calibrator& operator=(const Calibrator&) = delete;
  ~Calibrator();

  // Goes on from what other samples gave. Errors: those of StatisticsOf; kInvalidArgument: an entry
  // is of a variable that is not observed, or has no distribution. REQUIRES: nothing has run.
  absl::Status Continue(const RangeProfile& profile);

  // Runs samples. Errors name the sample, the first of those that fail: those of Backend::Run;
  // kInvalidArgument: an observed value is NaN. The statistics are then not to be used.
  absl::Status Run(absl::Span<const CalibrationSample> samples);

  // An entry for each observed variable that was written, in the order of the options.
  std::vector<RangeProfile::Entry> Entries() const;
  // The observed variables that were not.
  std::vector<std::string> NeverWritten() const;

 private:
  struct Worker;

  explicit Calibrator(const CalibrationOptions& options);

  absl::StatusOr<std::unique_ptr<Worker>> MakeWorker(const Program& program, Scope* parameters);
  // With the histograms of all workers.
  ValueStatistics StatisticsOfVariable(size_t variable) const;

  const CalibrationOptions options_;
  executor::ConstantStore constants_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one for each thread
  std::vector<ValueStatistics> statistics_;       // like options_.observed
};

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_CALIBRATION_CALIBRATOR_H_
