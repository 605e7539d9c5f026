#include "runtime/calibration/calibrator.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/backend.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/observation.h"
#include "runtime/shared_program.h"
#include "runtime/statistics/bit_histogram.h"
#include "runtime/tensor.h"
#include "runtime/thread_count.h"

namespace fixpoint {
namespace {

// The largest magnitude that a sample gave to each variable; nothing to one that was not written.
using LargestOfSample = std::vector<std::optional<float>>;

}  // namespace

// An executor with a program of its own, which threads cannot share, and what it has seen.
struct Calibrator::Worker {
  Worker(Program copy, const std::vector<std::string>& observed)
      : program(std::move(copy)), names(observed), histograms(observed.size()) {
    for (size_t i = 0; i < names.size(); ++i) {
      observation.variables.emplace(names[i], static_cast<int>(i));
    }
    observation.show = [this](int variable, absl::Span<const float> elements) {
      return See(variable, elements);
    };
  }

  absl::Status See(int variable, absl::Span<const float> elements) {
    if (elements.empty()) return absl::OkStatus();
    BitHistogram& histogram = histograms[variable];
    const float found = histogram.Add(elements);
    largest[variable] = std::max(largest[variable].value_or(0), found);
    if (histogram.nan_count() == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("\"", names[variable],
                     "\" has a NaN; want numbers: are the data as the network expects them, and "
                     "the parameters its own?"));
  }

  absl::StatusOr<LargestOfSample> Run(const CalibrationOptions& options,
                                      const CalibrationSample& sample) {
    largest.assign(names.size(), std::nullopt);
    RETURN_IF_ERROR(executor->RunInto(sample.feeds, options.outputs, /*step=*/0, &fetched));
    return largest;
  }

  const Program program;
  const std::vector<std::string>& names;
  std::vector<BitHistogram> histograms;
  LargestOfSample largest;  // of the sample that runs
  executor::Observation observation;
  std::unique_ptr<executor::Executor> executor;
  std::vector<Tensor> fetched;  // memory that runs write over
};

Calibrator::Calibrator(const CalibrationOptions& options)
    : options_(options), statistics_(options.observed.size()) {}

Calibrator::~Calibrator() = default;

absl::StatusOr<std::unique_ptr<Calibrator>> Calibrator::Create(const Program& program,
                                                               Scope* parameters,
                                                               const CalibrationOptions& options) {
  RETURN_IF_ERROR(CheckThreadCount(options.threads));
  Program shared = program.Clone();
  DropPersistableOfOneRun(&shared);
  RETURN_IF_ERROR(CheckWritesNoParameters(shared));
  auto calibrator = std::unique_ptr<Calibrator>(new Calibrator(options));
  for (int i = 0; i < options.threads; ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<Worker> worker, calibrator->MakeWorker(shared, parameters));
    calibrator->workers_.push_back(std::move(worker));
  }
  return calibrator;
}

absl::StatusOr<std::unique_ptr<Calibrator::Worker>> Calibrator::MakeWorker(const Program& program,
                                                                           Scope* parameters) {
  auto worker = std::make_unique<Worker>(program.Clone(), options_.observed);
  executor::ExecutorOptions options;
  options.max_iterations = options_.max_iterations;
  options.constants = &constants_;
  options.observation = &worker->observation;
  options.scope_is_shared = true;
  ASSIGN_OR_RETURN(worker->executor,
                   executor::Executor::Create(worker->program, parameters, options));
  return worker;
}

absl::Status Calibrator::Continue(const RangeProfile& profile) {
  absl::flat_hash_map<std::string, size_t> numbers;
  for (size_t i = 0; i < options_.observed.size(); ++i) numbers.emplace(options_.observed[i], i);
  for (const RangeProfile::Entry& entry : profile.entries()) {
    const auto number = numbers.find(entry.variable());
    if (number == numbers.end() || !HasDistribution(entry)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", entry.variable(),
          number == numbers.end()
              ? "\" is not observed in this program; want a profile of the same program"
              : "\" has no distribution of values; want a profile as calibrate writes it"));
    }
    ASSIGN_OR_RETURN(statistics_[number->second], StatisticsOf(entry));
  }
  return absl::OkStatus();
}

absl::Status Calibrator::Run(absl::Span<const CalibrationSample> samples) {
  std::vector<absl::StatusOr<LargestOfSample>> results(samples.size(), LargestOfSample());
  std::atomic<size_t> next{0};
  std::atomic<bool> has_failed{false};
  // Samples are taken in their order, so that those before the first that fails have all run.
  const auto run = [&](Worker* worker) {
    while (!has_failed) {
      const size_t i = next++;
      if (i >= samples.size()) return;
      results[i] = worker->Run(options_, samples[i]);
      if (!results[i].ok()) has_failed = true;
    }
  };
  std::vector<std::thread> threads;
  const size_t busy = std::min(workers_.size(), samples.size());
  for (size_t i = 1; i < busy; ++i) threads.emplace_back(run, workers_[i].get());
  run(workers_.front().get());
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!results[i].ok()) {
      return AtPlace(absl::StrCat("sample ", samples[i].id), results[i].status());
    }
    for (size_t v = 0; v < results[i]->size(); ++v) {
      if ((*results[i])[v]) statistics_[v].AddSample(*(*results[i])[v]);
    }
  }
  return absl::OkStatus();
}

ValueStatistics Calibrator::StatisticsOfVariable(size_t variable) const {
  ValueStatistics statistics = statistics_[variable];
  for (const std::unique_ptr<Worker>& worker : workers_) {
    statistics.histogram.Merge(worker->histograms[variable]);
  }
  return statistics;
}

std::vector<RangeProfile::Entry> Calibrator::Entries() const {
  std::vector<RangeProfile::Entry> entries;
  for (size_t i = 0; i < options_.observed.size(); ++i) {
    if (statistics_[i].samples == 0) continue;
    entries.push_back(EntryOf(options_.observed[i], StatisticsOfVariable(i)));
  }
  return entries;
}

std::vector<std::string> Calibrator::NeverWritten() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < options_.observed.size(); ++i) {
    if (statistics_[i].samples == 0) names.push_back(options_.observed[i]);
  }
  return names;
}

}  // namespace fixpoint
