#include "tools/calibration_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/base/status_macros.h"
#include "proto/config/range_profile.pb.h"
#include "proto/file/atomic_file.h"
#include "proto/file/text_message.h"
#include "proto/program/program.h"
#include "runtime/calibration/calibrator.h"
#include "runtime/calibration/parameters_checksum.h"
#include "runtime/data/batcher.h"
#include "runtime/data/sample_set.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "runtime/training/checkpoint.h"
#include "runtime/training/fed_batches.h"
#include "tools/named_parameters.h"
#include "tools/named_program.h"
#include "tools/network_ends.h"
#include "tools/outputs.h"
#include "tools/progress_line.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Below this, ranges are seldom those of other samples.
constexpr int64_t kFewSamples = 32;

// The file in which an unfinished profile is saved.
std::string PartialOf(const std::string& output) { return absl::StrCat(output, ".partial"); }

// A profile without entries, of a run whose samples are still to come.
absl::StatusOr<RangeProfile> NewProfile(const CalibrationCommand& command, const Program& program,
                                        const Scope& parameters, const SampleSet& set) {
  RangeProfile profile;
  profile.set_program_hash(ChecksumOf(program));
  profile.set_parameters_hash(ParametersChecksum(program.Proto(), parameters));
  RangeProfile::Samples& samples = *profile.add_samples();
  samples.set_data(command.data_name);
  ASSIGN_OR_RETURN(const uint64_t checksum, set.Checksum());
  samples.set_data_hash(checksum);
  return profile;
}

// The samples of a run, in their order.
class SampleReader {
 public:
  static absl::StatusOr<SampleReader> Create(const Program& program, const SampleSet* set,
                                             const NetworkVariables& variables, uint64_t seed) {
    BatchOptions options;
    options.seed = seed;
    ASSIGN_OR_RETURN(FedBatches batches, FedBatches::Create(program, set, variables, options));
    return SampleReader(std::move(batches));
  }

  // Replaces the samples that were read before by the next ones.
  absl::StatusOr<std::vector<CalibrationSample>> Read(int64_t count) {
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

 private:
  explicit SampleReader(FedBatches source) : source_(std::move(source)) {}

  FedBatches source_;  // of one sample each
  std::vector<Batch> batches_;
};

class Calibration {
 public:
  Calibration(const CalibrationCommand& command, Calibrator& calibrator, SampleReader reader,
              RangeProfile profile)
      : command_(command),
        calibrator_(calibrator),
        reader_(std::move(reader)),
        profile_(std::move(profile)) {}

  int64_t done() const { return profile_.samples(0).ids_size(); }

  // Goes on from what was saved, if anything was. Errors start with its file: those of
  // LoadTextMessage and Calibrator::Continue; kInvalidArgument: it is of another run.
  absl::Status Resume() {
    const std::string path = PartialOf(command_.output);
    std::error_code error;
    if (!fs::exists(path, error)) return absl::OkStatus();
    RangeProfile saved;
    RETURN_IF_ERROR(LoadTextMessage(path, &saved));
    if (saved.program_hash() != profile_.program_hash() ||
        saved.parameters_hash() != profile_.parameters_hash() || saved.samples_size() != 1 ||
        saved.samples(0).data_hash() != profile_.samples(0).data_hash()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          ": was saved by a run with another program, other parameters or other data; want "
          "the same, or no --resume"));
    }
    const auto& ids = saved.samples(0).ids();
    for (const int64_t id : ids) {
      ASSIGN_OR_RETURN(const std::vector<CalibrationSample> samples, reader_.Read(1));
      if (samples[0].id == id) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": was saved by a run with another seed; want the same, or no --resume"));
    }
    const absl::Status status = calibrator_.Continue(saved);
    if (!status.ok()) return InFile(path, status);
    *profile_.mutable_samples() = saved.samples();
    WriteNotes(command_.program, {absl::StrCat("resuming from ", path, " after ", done(),
                                               done() == 1 ? " sample" : " samples")});
    return absl::OkStatus();
  }

  // Runs samples until there are `count`.
  absl::Status Run(int64_t count) {
    ProgressLine progress = ProgressLine::OnStandardError();
    const Clock::time_point begin = Clock::now();
    const int64_t first = done();
    int64_t saved = done();
    while (done() < count) {
      ASSIGN_OR_RETURN(const std::vector<CalibrationSample> samples,
                       reader_.Read(std::min(command_.batch_size, count - done())));
      const absl::Status status = calibrator_.Run(samples);
      if (!status.ok()) return InFile(command_.program, status);
      for (const CalibrationSample& sample : samples) {
        profile_.mutable_samples(0)->add_ids(sample.id);
      }
      if (command_.save_every > 0 && done() - saved >= command_.save_every && done() < count) {
        RETURN_IF_ERROR(WriteFileAtomically(PartialOf(command_.output), Text()));
        saved = done();
      }
      if (progress.IsDue()) {
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        progress.Show(absl::StrFormat("sample %d/%d  %.1f samples/s", done(), count,
                                      static_cast<double>(done() - first) / seconds));
      }
    }
    return absl::OkStatus();
  }

  // The profile of the samples so far.
  std::string Text() {
    profile_.clear_entries();
    for (RangeProfile::Entry& entry : calibrator_.Entries()) {
      *profile_.add_entries() = std::move(entry);
    }
    return PrintTextMessage(profile_);
  }

  // What a user should know of the profile that Text has made.
  std::vector<std::string> Notes() const {
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
    note(calibrator_.NeverWritten(), "variables that may be quantized and were not computed");
    return notes;
  }

  int observed() const { return profile_.entries_size(); }

 private:
  const CalibrationCommand& command_;
  Calibrator& calibrator_;
  SampleReader reader_;
  RangeProfile profile_;  // with the ids of the samples that ran
};

// For what ops run: the program's fetches, or the scores.
absl::StatusOr<std::vector<std::string>> OutputsOf(const CalibrationCommand& command,
                                                   const Program& program) {
  ASSIGN_OR_RETURN(NetworkEnds ends, FindNetworkEnds(program, command.program, {},
                                                     command.variables, "--scores=NAME"));
  return std::move(ends.outputs);
}

}  // namespace

absl::StatusOr<ExitCode> RunCalibrationCommand(const CalibrationCommand& command) {
  ASSIGN_OR_RETURN(const NamedProgram named, LoadNamedProgram(command.program));
  const Program& program = named.program;
  std::vector<std::string> inputs = ParameterInputs(command.params, program.Proto());
  inputs.push_back(command.program);
  Outputs outputs(std::move(inputs));
  RETURN_IF_ERROR(outputs.Claim(command.output));
  Scope parameters;
  if (!command.params.empty()) {
    ASSIGN_OR_RETURN(parameters, LoadParameters(program.Proto(), command.params));
  }
  ASSIGN_OR_RETURN(
      const NetworkVariables variables,
      FindVariablesForFlags(program, command.program, command.variables, InputsOf(command.data)));
  CalibrationOptions options;
  ASSIGN_OR_RETURN(options.outputs, OutputsOf(command, program));
  options.observed = FindObservedVariables(program, command.outputs);
  options.threads = command.threads;
  options.max_iterations = command.max_iterations;
  const auto calibrator = Calibrator::Create(program, &parameters, options);
  if (!calibrator.ok()) return InFile(command.program, calibrator.status());

  ASSIGN_OR_RETURN(const std::unique_ptr<SampleSet> set,
                   OpenData(command.data, DataPart::kTraining));
  ASSIGN_OR_RETURN(SampleReader reader,
                   SampleReader::Create(program, set.get(), variables, command.seed));
  ASSIGN_OR_RETURN(RangeProfile profile, NewProfile(command, program, parameters, *set));
  Calibration calibration(command, **calibrator, std::move(reader), std::move(profile));
  if (command.resume) RETURN_IF_ERROR(calibration.Resume());
  RETURN_IF_ERROR(calibration.Run(std::min(command.samples, set->size())));
  RETURN_IF_ERROR(outputs.Stage(command.output, calibration.Text()));
  RETURN_IF_ERROR(outputs.Commit());
  std::error_code error;
  fs::remove(PartialOf(command.output), error);
  WriteNotes(command.program, calibration.Notes());
  RETURN_IF_ERROR(
      WriteReport(absl::StrCat("variables ", calibration.observed(), ", samples ",
                               calibration.done(), "\n", "wrote ", command.output, "\n"),
                  outputs.to_standard_output()));
  return kDone;
}

}  // namespace fixpoint
