#include "tests/runtime/reference/digits_training.h"

#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "ops/layers.h"
#include "ops/program_builder.h"
#include "runtime/data/batcher.h"
#include "runtime/data/digits.h"
#include "runtime/data/image_set.h"
#include "runtime/reference/array.h"
#include "runtime/reference/interpreter.h"
#include "runtime/tensor.h"
#include "tests/testing/parameter_text.h"
#include "transpiler/freeze/test_program.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint::reference {
namespace {

constexpr char kImage[] = "image";
constexpr char kLabel[] = "label";

ImageSamples Digits() {
  absl::StatusOr<ImageSet> digits = RenderDigits(320, /*seed=*/1);
  EXPECT_TRUE(digits.ok()) << digits.status();
  return ImageSamples::Create(*std::move(digits)).value();
}

bool Persists(const Program& program, const std::string& name) {
  const Variable* variable = program.Find(program.block(0), name);
  return variable != nullptr && variable->persistable();
}

}  // namespace

DigitsTraining::DigitsTraining(const QuantConfig& config, const DigitsOptions& options)
    : DigitsTraining(EmptyProgram(2, 6), Digits()) {
  Program startup = EmptyProgram(2, 6);
  ProgramBuilder net(&program_, &startup);
  const std::string image = Data(net, kImage, {-1, 1, 28, 28});
  const std::string label = Data(net, kLabel, {-1, 1}, VarType::INT64);
  std::string hidden = Fc(net, AvgPool2d(net, image, 4), 16);
  if (options.batch_norm) hidden = BatchNorm(net, hidden);
  const std::string logits = Fc(net, Relu(net, hidden), 10);
  loss_ = Mean(net, SoftmaxWithCrossEntropy(net, logits, label));
  if (options.loss_factor != 1) loss_ = Scale(net, loss_, options.loss_factor);
  const auto minimized = options.optimizer.Minimize(net, loss_);
  EXPECT_TRUE(minimized.ok()) << minimized.status();

  TranspileOptions transpile;
  transpile.config = config;
  transpile.startup = &startup;
  transpile.quantizers = options.quantizers;
  precision_ = options.precision;
  const auto transpiled = Transpile(&program_, transpile);
  EXPECT_TRUE(transpiled.ok()) << transpiled.status();
  const auto initialised =
      Interpreter::Create(startup, &scope_, {precision_, /*seed=*/0})->Run({}, {}, 0);
  EXPECT_TRUE(initialised.ok()) << initialised.status();
}

void DigitsTraining::Feed() {
  BatchOptions options;
  options.batch_size = 16;
  absl::StatusOr<Batcher> batcher = Batcher::Create(&digits_, options);
  ASSERT_TRUE(batcher.ok()) << batcher.status();
  const int64_t batches = batcher->BatchesPerEpoch();
  ASSERT_TRUE(batcher->Seek({steps_ / batches, steps_ % batches}).ok());
  absl::StatusOr<Batch> batch = batcher->Next();
  ASSERT_TRUE(batch.ok()) << batch.status();
  scope_.Set(kImage, std::move(batch->values[0]));
  scope_.Set(kLabel, std::move(batch->values[1]));
}

std::vector<double> DigitsTraining::Train(int steps) {
  absl::StatusOr<Interpreter> interpreter =
      Interpreter::Create(program_, &scope_, {precision_, /*seed=*/0});
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  std::vector<double> losses;
  for (int step = 0; interpreter.ok() && step < steps; ++step, ++steps_) {
    Feed();
    const auto fetched = interpreter->Run({}, {loss_}, static_cast<uint32_t>(steps_));
    EXPECT_TRUE(fetched.ok()) << fetched.status();
    if (!fetched.ok()) break;
    losses.push_back(ArrayOf(fetched->front())->values.at(0));
  }
  return losses;
}

double DigitsTraining::TestLoss() {
  const absl::StatusOr<Program> test_program = MakeTestProgram(program_);
  EXPECT_TRUE(test_program.ok()) << test_program.status();
  absl::StatusOr<Interpreter> interpreter =
      Interpreter::Create(*test_program, &scope_, {precision_, /*seed=*/0});
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  Feed();
  const auto fetched = interpreter->Run({}, {loss_}, static_cast<uint32_t>(steps_));
  EXPECT_TRUE(fetched.ok()) << fetched.status();
  return fetched.ok() ? ArrayOf(fetched->front())->values.at(0) : 0;
}

DigitsTraining DigitsTraining::Resumed() const {
  DigitsTraining resumed(program_.Clone(), Digits());
  resumed.loss_ = loss_;
  resumed.steps_ = steps_;
  resumed.precision_ = precision_;
  for (const auto& [name, value] : scope_) {
    if (Persists(program_, name)) resumed.scope_.Set(name, *Scope::CloneOf(value));
  }
  return resumed;
}

std::vector<double> DigitsTraining::Values(const std::string& name) const {
  const absl::StatusOr<const Tensor*> tensor = scope_.Find(name);
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  if (!tensor.ok()) return {};
  const absl::StatusOr<Array> array = ArrayOf(**tensor);
  EXPECT_TRUE(array.ok()) << array.status();
  return array.ok() ? array->values : std::vector<double>();
}

std::vector<std::string> DigitsTraining::NamesWith(absl::string_view suffix) const {
  std::vector<std::string> names;
  for (const auto& [name, value] : scope_) {
    if (absl::EndsWith(name, suffix) && Persists(program_, name)) names.push_back(name);
  }
  return names;
}

std::string DigitsTraining::State() const {
  Scope state;
  for (const auto& [name, value] : scope_) {
    if (Persists(program_, name)) state.Set(name, *Scope::CloneOf(value));
  }
  return PrintParameters(state);
}

}  // namespace fixpoint::reference
