// What benchmarks of accuracy share: networks that are trained in float on MNIST, and from there
// with quantizers, for several seeds. The recipe is one for all of them: Adam, batches of 128, a
// rate that falls from its beginning to 0 along half a cosine.

#ifndef FIXPOINT_BENCHMARKS_ACCURACY_H_
#define FIXPOINT_BENCHMARKS_ACCURACY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "benchmarks/networks.h"
#include "proto/config/range_profile.pb.h"
#include "runtime/calibration/observed_variables.h"
#include "runtime/data/image_samples.h"
#include "runtime/scope.h"

namespace fixpoint {

// What is shared by all runs of one command.
struct AccuracyTask {
  std::string network;  // of NetworkNames()
  ImageSamples train;
  ImageSamples test;
  int float_epochs = 16;  // from a rate of 0.001 on
  int epochs = 6;         // with quantizers, from half of it on
};

// The network of that name, in float.
Network BuildFloatNetwork(const std::string& name);
// Its variables after training.
Scope TrainInFloat(const Network& network, const AccuracyTask& task, uint64_t seed);
// In test mode, in percent.
double AccuracyOf(const Network& network, const AccuracyTask& task, Scope* scope);
// The same for a program of inference.
double AccuracyOf(const Program& program, const AccuracyTask& task, Scope* scope);

// Ranges of that many training images in a network in test mode. Dies of what is wrong.
RangeProfile ProfileOf(const Program& program, const AccuracyTask& task, ObservedOutputs observed,
                       int64_t samples, Scope* parameters);

struct QuantizedRow {
  const char* name;
  const char* config;  // a QuantConfig as text
  bool trains = true;  // else ranges follow some batches, and parameters stay
};
// The accuracy of the task's network with quantizers, which starts from the parameters of the float
// one.
double QuantizedAccuracy(const QuantizedRow& row, const Scope& trained, const AccuracyTask& task,
                         uint64_t seed);

// Accuracies by row, over seeds. The first row is what the others are compared with.
class AccuracyTable {
 public:
  // Logs it too.
  void Add(absl::string_view row, double accuracy);
  // In Markdown, rows as they were first added.
  void Print(absl::string_view title) const;

 private:
  std::vector<std::pair<std::string, std::vector<double>>> rows_;
};

struct AccuracyCommand {
  AccuracyTask task;
  int seeds = 5;
  std::string rows = "";  // part of the names of those that are wanted

  bool Wants(const QuantizedRow& row) const { return absl::StrContains(row.name, rows); }
};
// What main does with the arguments FOLDER [seeds [float_epochs [epochs [rows]]]]: loads MNIST from
// the folder and runs. Gives the exit code.
int RunAccuracyCommand(const std::string& network, int argc, char** argv,
                       void (*run)(const AccuracyCommand& command));

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_ACCURACY_H_
