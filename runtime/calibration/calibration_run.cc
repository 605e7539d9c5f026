#include "runtime/calibration/calibration_run.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "runtime/calibration/parameters_checksum.h"
#include "runtime/error_place.h"
#include "runtime/training/checkpoint.h"

namespace fixpoint {
namespace {

// Below this, ranges are seldom those of other samples.
constexpr int64_t kFewSamples = 32;

// A profile without entries, of a run whose samples are still to come.
absl::StatusOr<RangeProfile> NewProfile(const Program& program, const Scope& parameters,
                                        const SampleSet& set, const std::string& data_name) {
  RangeProfile profile;
  profile.set_program_hash(ChecksumOf(program));
  profile.set_parameters_hash(ParametersChecksum(program.Proto(), parameters));
  RangeProfile::Samples& samples = *profile.add_samples();
  samples.set_data(data_name);
  ASSIGN_OR_RETURN(const uint64_t checksum, set.Checksum());
  samples.set_data_hash(checksum);
  return profile;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CalibrationRun>> CalibrationRun::Create(
    const Program& program, Scope* parameters, const SampleSet* set,
    const CalibrationRunOptions& options) {
  auto calibrator = Calibrator::Create(program, parameters, options.calibration);
  if (!calibrator.ok()) return In(program.name(), calibrator.status());
  BatchOptions of_one;
  of_one.seed = options.seed;
  ASSIGN_OR_RETURN(FedBatches source, FedBatches::Create(program, set, options.variables, of_one));
  ASSIGN_OR_RETURN(RangeProfile profile, NewProfile(program, *parameters, *set, options.data_name));
  return std::unique_ptr<CalibrationRun>(
      new CalibrationRun(options, program.name(), *std::move(calibrator), std::move(source),
                         std::min(options.samples, set->size()), std::move(profile)));
}

absl::StatusOr<std::vector<CalibrationSample>> CalibrationRun::Read(int64_t count) {
  batches_.clear();
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Batch batch, source_.batcher().Next());
    batches_.push_back(std::move(batch));
  }
  std::vector<CalibrationSample> samples;
  for (const Batch& batch : batches_) {
    samples.push_back({batch.samples.front(), source_.FeedsOf(batch)});
  }
  return samples;
}

absl::Status CalibrationRun::Resume() {
  const std::string& path = options_.saved;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  RangeProfile saved;
  RETURN_IF_ERROR(LoadTextMessage(path, &saved));
  const char* const other =
      saved.program_hash() != profile_.program_hash()         ? "another program"
      : saved.parameters_hash() != profile_.parameters_hash() ? "other parameters"
      : saved.samples_size() != 1 || saved.samples(0).data_hash() != profile_.samples(0).data_hash()
          ? "other data"
          : nullptr;
  if (other != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": was saved by a run with ", other, "; want the same, or no --resume"));
  }
  for (const int64_t id : saved.samples(0).ids()) {
    ASSIGN_OR_RETURN(const std::vector<CalibrationSample> samples, Read(1));
    if (samples[0].id == id) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": was saved by a run with another seed; want the same, or no --resume"));
  }
  const absl::Status status = calibrator_->Continue(saved);
  if (!status.ok()) return In(path, status);
  *profile_.mutable_samples() = saved.samples();
  return absl::OkStatus();
}

absl::Status CalibrationRun::Run(const std::function<void()>& after_each) {
  int64_t saved = done();
  while (done() < samples_) {
    ASSIGN_OR_RETURN(const std::vector<CalibrationSample> samples,
                     Read(std::min(options_.batch_size, samples_ - done())));
    const absl::Status status = calibrator_->Run(samples);
    if (!status.ok()) return In(program_, status);
    for (const CalibrationSample& sample : samples) {
      profile_.mutable_samples(0)->add_ids(sample.id);
    }
    if (options_.save_every > 0 && done() - saved >= options_.save_every && done() < samples_) {
      RETURN_IF_ERROR(WriteFileAtomically(options_.saved, PrintTextMessage(Profile())));
      saved = done();
    }
    after_each();
  }
  return absl::OkStatus();
}

const RangeProfile& CalibrationRun::Profile() {
  profile_.clear_entries();
  for (RangeProfile::Entry& entry : calibrator_->Entries()) {
    *profile_.add_entries() = std::move(entry);
  }
  return profile_;
}

std::vector<std::string> CalibrationRun::Notes() const {
  std::vector<std::string> notes;
  if (done() < kFewSamples) {
    notes.push_back(absl::StrCat("only ", done(), done() == 1 ? " sample" : " samples",
                                 ": the ranges of others may be larger"));
  }
  const auto note = [&notes](const std::vector<std::string>& names, absl::string_view what) {
    if (names.empty()) return;
    notes.push_back(absl::StrCat(what, ": ", names.size(), ", the first is ", names[0]));
  };
  std::vector<std::string> constant;
  std::vector<std::string> infinite;
  for (const RangeProfile::Entry& entry : profile_.entries()) {
    if (entry.min() == entry.max()) constant.push_back(entry.variable());
    if (entry.infinite_count() > 0) infinite.push_back(entry.variable());
  }
  note(constant, "variables with the same value in all samples");
  note(infinite, "variables with infinities, which no range holds");
  note(calibrator_->NeverWritten(), "variables that may be quantized and were not computed");
  return notes;
}

}  // namespace fixpoint
