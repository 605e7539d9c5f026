// Accuracies of LeNet-5 on MNIST: trained in float, and trained on in simulated integers from there
// with each quantizer. The table of docs/results.md.
//
//   bazel run --config=opt //benchmarks:mnist_accuracy -- FOLDER [seeds [float_epochs [epochs
//   [rows]]]]
//
// FOLDER holds the four files of the data set, gzipped or not; `rows` is a part of the names of the
// rows that are wanted. "signed" are codes of both signs after a relu too, as the reference has
// them.

#include "benchmarks/accuracy.h"
#include "benchmarks/networks.h"
#include "runtime/scope.h"

namespace fixpoint {
namespace {

// Learned ranges as the paper has them: the first and the last layer stay at 8 bits.
#define LEARNED(weight_bits, activation_bits)                                                \
  "target: 'onednn_int8' weights { bits: " weight_bits                                       \
  " quantizer: 'channel_wise_lsq' form: FUSED } activations { bits: " activation_bits        \
  " quantizer: 'lsq' form: FUSED } rules { name_pattern: 'conv2d_0.w_0' spec { bits: 8 } } " \
  "rules { name_pattern: 'fc_2.w_0' spec { bits: 8 } }"

constexpr QuantizedRow kRows[] = {
    {"8 bits, abs_max", "target: 'onednn_int8' activations { quantizer: 'abs_max' }"},
    {"8 bits, moving_average_abs_max",
     "target: 'onednn_int8' activations { quantizer: 'moving_average_abs_max' }"},
    {"8 bits, range_abs_max", "target: 'onednn_int8' activations { quantizer: 'range_abs_max' }"},
    {"4 bits, moving_average_abs_max",
     "target: 'onednn_int8' weights { bits: 4 } activations { bits: 4 quantizer: "
     "'moving_average_abs_max' }"},
    {"4 bits, moving_average_abs_max, not trained",
     "target: 'onednn_int8' weights { bits: 4 } activations { bits: 4 quantizer: "
     "'moving_average_abs_max' }",
     /*trains=*/false},
    {"4 bits, moving_average_abs_max, signed",
     "target: 'paddle_2_6' weights { bits: 4 } activations { bits: 4 quantizer: "
     "'moving_average_abs_max' }"},
    {"4 bits, moving_average_abs_max, signed, not trained",
     "target: 'paddle_2_6' weights { bits: 4 } activations { bits: 4 quantizer: "
     "'moving_average_abs_max' }",
     /*trains=*/false},
    {"4 bits, lsq", LEARNED("4", "4")},
    {"2-bit weights, 8-bit activations, lsq", LEARNED("2", "8")},
    {"2 bits, lsq", LEARNED("2", "2")},
};

void Run(const AccuracyCommand& command) {
  const Network network = BuildFloatNetwork(command.task.network);
  AccuracyTable table;
  for (int seed = 1; seed <= command.seeds; ++seed) {
    Scope scope = TrainInFloat(network, command.task, seed);
    table.Add("float", AccuracyOf(network, command.task, &scope));
    for (const QuantizedRow& row : kRows) {
      if (!command.Wants(row)) continue;
      table.Add(row.name, QuantizedAccuracy(row, scope, command.task, seed));
    }
  }
  table.Print("LeNet-5, MNIST");
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunAccuracyCommand("lenet5", argc, argv, fixpoint::Run);
}
