// Accuracies of a network with depthwise convolutions on MNIST whose channels have ranges that are
// spread on purpose: trained in float, spread, and quantized with one range for each weight or one
// for each channel, with and without training. The table of docs/results.md.
//
//   bazel run --config=opt //benchmarks:depthwise_accuracy -- FOLDER [seeds [float_epochs [epochs
//   [rows]]]]
//
// The network stays the same function: what the filters of a channel are multiplied by, the batch
// norm after them divides by, as its mean and variance are those of the larger numbers.

#include <glog/logging.h>

#include <cmath>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "benchmarks/accuracy.h"
#include "benchmarks/networks.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

constexpr char kPerTensor[] = "target: 'onednn_int8' weights { quantizer: 'abs_max' }";
constexpr char kPerChannel[] =
    "target: 'onednn_int8' weights { quantizer: 'channel_wise_abs_max' }";

constexpr QuantizedRow kRows[] = {
    {"8 bits, per tensor, not trained", kPerTensor, /*trains=*/false},
    {"8 bits, per channel, not trained", kPerChannel, /*trains=*/false},
    {"8 bits, per tensor", kPerTensor},
    {"8 bits, per channel", kPerChannel},
};

absl::Span<float> Values(const Op& op, absl::string_view slot, Scope* scope) {
  return std::get<Tensor>(*scope->FindOrNull(std::string(op.Input(slot)->name())))
      .mutable_data<float>();
}

void Multiply(absl::Span<float> values, float by) {
  for (float& value : values) value *= by;
}

const Op& BatchNormOf(const Program& program, absl::string_view output) {
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == "batch_norm" && op.Input("X")->name() == output) return op;
  }
  LOG(FATAL) << output << " has no batch norm";
}

// How many times the range of the first channel the last one's becomes.
constexpr float kSpread = 300;

// Multiplies the filters of channel c of each depthwise convolution of C channels by
// kSpread^(c / (C - 1)).
void SpreadChannels(const Program& program, Scope* scope) {
  for (const Op& op : program.block(0).ops()) {
    if (op.type() != "depthwise_conv2d") continue;
    const Op& norm = BatchNormOf(program, op.Output("Output")->name());
    const absl::Span<float> filters = Values(op, "Filter", scope);
    const absl::Span<float> means = Values(norm, "Mean", scope);
    const absl::Span<float> variances = Values(norm, "Variance", scope);
    const size_t taps = filters.size() / means.size();
    for (size_t c = 0; c < means.size(); ++c) {
      const float by =
          std::pow(kSpread, static_cast<float>(c) / static_cast<float>(means.size() - 1));
      Multiply(filters.subspan(c * taps, taps), by);
      means[c] *= by;
      variances[c] *= by * by;
    }
  }
}

void Run(const AccuracyCommand& command) {
  const Network network = BuildFloatNetwork(command.task.network);
  AccuracyTable table;
  for (int seed = 1; seed <= command.seeds; ++seed) {
    Scope scope = TrainInFloat(network, command.task, seed);
    table.Add("float", AccuracyOf(network, command.task, &scope));
    for (const bool spread : {false, true}) {
      if (spread) {
        SpreadChannels(network.main, &scope);
        table.Add("float, spread", AccuracyOf(network, command.task, &scope));
      }
      for (const QuantizedRow& row : kRows) {
        if (!command.Wants(row)) continue;
        table.Add(absl::StrCat(row.name, spread ? ", spread" : ""),
                  QuantizedAccuracy(row, scope, command.task, seed));
      }
    }
  }
  table.Print("Separable convolutions, MNIST");
}

}  // namespace
}  // namespace fixpoint

int main(int argc, char** argv) {
  return fixpoint::RunAccuracyCommand("small_separable", argc, argv, fixpoint::Run);
}
