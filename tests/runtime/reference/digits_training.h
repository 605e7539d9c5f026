// A small quantized network that learns to recognise rendered digits, step by step.

#ifndef FIXPOINT_TESTS_RUNTIME_REFERENCE_DIGITS_TRAINING_H_
#define FIXPOINT_TESTS_RUNTIME_REFERENCE_DIGITS_TRAINING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/optimizer.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_config.pb.h"
#include "proto/program/program.h"
#include "runtime/data/image_samples.h"
#include "runtime/reference/frame.h"
#include "runtime/scope.h"

namespace fixpoint::reference {

struct DigitsOptions {
  Optimizer optimizer = Optimizer(Momentum(0.9f), 0.05f);
  bool batch_norm = false;  // after the first layer
  float loss_factor = 1;
  const QuantizerTable* quantizers = nullptr;  // null: the built-in ones
  Precision precision = Precision::kAsDeclared;
};

// Images of 7 x 7 means, a layer of 16 units with relu, and one of 10, trained on batches of 16.
// Failures are test failures.
class DigitsTraining {
 public:
  explicit DigitsTraining(const QuantConfig& config, const DigitsOptions& options = {});

  // The losses of the next steps.
  std::vector<double> Train(int steps);
  // The loss that the next step would have in the test program.
  double TestLoss();
  // Another training that continues from this one, with the program, its persistable variables, the
  // position in the data, and nothing else.
  DigitsTraining Resumed() const;

  // The value of a persistable variable.
  std::vector<double> Values(const std::string& name) const;
  // The variables whose names end so.
  std::vector<std::string> NamesWith(absl::string_view suffix) const;
  // All persistable variables, as text.
  std::string State() const;

  const Program& program() const { return program_; }

 private:
  DigitsTraining(Program program, ImageSamples digits)
      : digits_(std::move(digits)), program_(std::move(program)) {}

  void Feed();

  ImageSamples digits_;
  Program program_;
  std::string loss_;
  Scope scope_;
  int64_t steps_ = 0;
  Precision precision_ = Precision::kAsDeclared;
};

}  // namespace fixpoint::reference

#endif  // FIXPOINT_TESTS_RUNTIME_REFERENCE_DIGITS_TRAINING_H_
