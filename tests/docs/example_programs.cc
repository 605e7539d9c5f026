#include "tests/docs/example_programs.h"

#include <string>

#include "ops/layers.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {

absl::StatusOr<std::vector<GeneratedFile>> ExamplePrograms() {
  Program main = EmptyProgram(2, 6, 2);
  Program startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&main, &startup);
  const std::string image = Data(net, "image", {-1, 1, 28, 28});
  const std::string label = Data(net, "label", {-1, 1}, VarType::INT64);
  const std::string logits = Fc(net, Relu(net, Fc(net, image, 16)), 10);
  const std::string loss = Mean(net, SoftmaxWithCrossEntropy(net, logits, label));
  RETURN_IF_ERROR(Optimizer(Momentum(0.9f), 0.1f).Minimize(net, loss).status());
  return std::vector<GeneratedFile>{
      {"examples/data/mlp.train.txt", PrintProgram(main.Proto())},
      {"examples/data/mlp.startup.txt", PrintProgram(startup.Proto())}};
}

}  // namespace fixpoint
