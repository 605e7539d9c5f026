// Inference and training steps on one thread and on several, in turn, by the clock: the fastest of
// many rounds, as a thread that waits for a core holds up all others, the speedup, and which steps
// take less on several threads.
//
//   bazel run --config=opt //benchmarks:threads_benchmark -- [--threads=N]
//       [NETWORK BATCH [float|int8|float_step|step]]
//
// float, int8: inference; float_step, step: training in float and quantized. With one of them it
// prints the time of each kind of step. A copy of memory comes first: what is bound by memory gains
// no more than it.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "benchmarks/clock.h"
#include "benchmarks/inference_form.h"
#include "benchmarks/networks.h"
#include "benchmarks/timed_predictor.h"
#include "benchmarks/timed_trainer.h"
#include "runtime/executor/profile.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/threads.h"

DEFINE_int32(threads, 2, "how many threads are compared with one");

namespace fixpoint {
namespace {

using executor::ProfileRow;

constexpr int kRounds = 40;
constexpr double kRoundSeconds = 0.01;
constexpr double kMostSeconds = 20;

struct Work {
  std::function<void()> run;
  std::function<std::vector<ProfileRow>()> profile;
};

using MakeWork = std::function<Work(int threads, bool profile)>;

Work Inference(const std::string& network, int64_t batch, Form form, int threads, bool profile) {
  const auto predictor = std::make_shared<TimedPredictor>(network, form, batch, profile, threads);
  return {[=] { predictor->Run(); }, [=] { return predictor->predictor().ProfileRows(); }};
}

Work Training(const std::string& network, int64_t batch, TrainedAs trained_as, int threads,
              bool profile) {
  const auto trainer =
      std::make_shared<TimedTrainer>(BuildNetwork(network, batch), trained_as, profile, threads);
  return {[=] { trainer->Step(); }, [=] { return trainer->ProfileRows(); }};
}

MakeWork WorkNamed(const std::string& name, const std::string& network, int64_t batch) {
  if (name == "float" || name == "int8") {
    const Form form = name == "float" ? Form::kFloat : Form::kLowered;
    return [=](int threads, bool profile) {
      return Inference(network, batch, form, threads, profile);
    };
  }
  CHECK(name == "float_step" || name == "step")
      << "there is no \"" << name << "\"; want float, int8, float_step or step";
  const TrainedAs trained_as = name == "step" ? TrainedAs::kQuantized : TrainedAs::kFloat;
  return [=](int threads, bool profile) {
    return Training(network, batch, trained_as, threads, profile);
  };
}

// The mean time of a round of runs. The first one wakes threads that have waited for long.
double Round(const std::function<void()>& run) {
  run();
  const double begin = WallSeconds();
  int runs = 0;
  for (; runs == 0 || WallSeconds() - begin < kRoundSeconds; ++runs) run();
  return (WallSeconds() - begin) / runs;
}

// Seconds on one thread and on several.
std::pair<double, double> TimesOf(const std::function<void()>& on_one,
                                  const std::function<void()>& on_several) {
  std::pair<double, double> fastest = {Round(on_one), Round(on_several)};
  const double begin = WallSeconds();
  for (int round = 0; round < kRounds && WallSeconds() - begin < kMostSeconds; ++round) {
    fastest.first = std::min(fastest.first, Round(on_one));
    fastest.second = std::min(fastest.second, Round(on_several));
  }
  return fastest;
}

void MeasureCopy() {
  const auto bytes = static_cast<size_t>(kernels::ThisMachine().bytes_beyond_caches());
  std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes, 2);
  const auto copy = [&](int threads) {
    kernels::RunOnThreads(threads, static_cast<int64_t>(bytes),
                          [&](int, int64_t begin, int64_t end) {
                            std::memcpy(&to[begin], &from[begin], end - begin);
                          });
  };
  const auto [of_one, of_several] = TimesOf([&] { copy(1); }, [&] { copy(FLAGS_threads); });
  const double moved = 2e-9 * static_cast<double>(bytes);
  absl::PrintF("%-30s %8.1f GB/s %8.1f GB/s %5.2f\n", "copy of memory", moved / of_one,
               moved / of_several, of_one / of_several);
}

void Measure(const std::string& name, const std::string& network, int64_t batch) {
  const MakeWork make = WorkNamed(name, network, batch);
  const Work on_one = make(1, /*profile=*/false);
  const Work on_several = make(FLAGS_threads, /*profile=*/false);
  const auto [of_one, of_several] = TimesOf(on_one.run, on_several.run);
  absl::PrintF("%-12s %3d %-13s %10.3f ms %10.3f ms %5.2f\n", network, batch, name, 1e3 * of_one,
               1e3 * of_several, of_one / of_several);
}

// What is lost comes first: the time beyond that of one thread, divided by the number of threads.
void PrintProfiles(const std::string& name, const std::string& network, int64_t batch) {
  const MakeWork make = WorkNamed(name, network, batch);
  const Work on_one = make(1, /*profile=*/true);
  const Work on_several = make(FLAGS_threads, /*profile=*/true);
  for (const Work* work : {&on_one, &on_several}) {
    for (int round = 0; round < kRounds; ++round) Round(work->run);
  }

  struct Row {
    int steps = 0;
    double of_one = 0;
    double of_several = 0;
    double Lost() const { return of_several - of_one / FLAGS_threads; }
  };
  std::map<std::string, Row> rows;
  for (const ProfileRow& step : on_one.profile()) {
    Row& row = rows[step.name];
    row.steps += step.steps;
    row.of_one += step.seconds;
  }
  for (const ProfileRow& step : on_several.profile()) rows[step.name].of_several += step.seconds;
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.Lost() > b.second.Lost(); });
  absl::PrintF("\nsteps  one thread  %d threads  speedup  lost ms  step\n", FLAGS_threads);
  for (const auto& [step, row] : sorted) {
    absl::PrintF("%5d %11.4f %10.4f %8.2f %8.4f  %s\n", row.steps, 1e3 * row.of_one,
                 1e3 * row.of_several, row.of_one / row.of_several, 1e3 * row.Lost(), step);
  }
}

void Run(int argc, char** argv) {
  absl::PrintF("%-12s %3s %-13s %13s %10d threads  ratio\n", "network", "n", "work", "one thread",
               FLAGS_threads);
  MeasureCopy();
  const std::vector<std::string> inference = {"float", "int8"};
  const std::vector<std::string> training = {"float_step", "step"};
  if (argc == 4) {
    Measure(argv[3], argv[1], std::atoi(argv[2]));
    PrintProfiles(argv[3], argv[1], std::atoi(argv[2]));
    return;
  }
  if (argc == 3) {
    for (const auto& works : {inference, training}) {
      for (const std::string& work : works) Measure(work, argv[1], std::atoi(argv[2]));
    }
    return;
  }
  for (const char* network : {"lenet5", "resnet20", "mobilenet_v1", "resnet50"}) {
    for (const int64_t batch : {1, 32}) {
      for (const std::string& work : inference) Measure(work, network, batch);
    }
    for (const std::string& work : training) Measure(work, network, 32);
  }
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  fixpoint::Run(argc, argv);
  return 0;
}
