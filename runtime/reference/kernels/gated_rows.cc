#include "runtime/reference/kernels/gated_rows.h"

#include <algorithm>

#include "ops/dims.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"

namespace fixpoint::reference {

absl::StatusOr<Paths> PathsOf(const OpRun& op, const char* slot) {
  const Array& input = op.Input(slot);
  ASSIGN_OR_RETURN(const std::vector<Sequence> sequences, SequencesOf(slot, input.dims, input.lod));
  Paths paths;
  for (const Sequence& sequence : sequences) {
    std::vector<int64_t> path;
    for (int64_t row = sequence.begin; row < sequence.end; ++row) path.push_back(row);
    if (op.Bool("is_reverse")) std::reverse(path.begin(), path.end());
    paths.push_back(std::move(path));
  }
  return paths;
}

Numbers BiasedInput(const Array& input, const Array* bias) {
  Numbers x = input.values;
  const int64_t columns = input.dims[1];
  for (size_t i = 0; bias != nullptr && i < x.size(); ++i) x[i] += (*bias)[i % columns];
  return x;
}

absl::Status CheckFirstState(const OpRun& op, const char* slot, const Paths& paths, int64_t width) {
  if (op.FindInput(slot) == nullptr) return absl::OkStatus();
  return op.CheckDims(slot, Dims{static_cast<int64_t>(paths.size()), width});
}

void ReadRow(const Array* array, int64_t row, Numbers* numbers) {
  if (array == nullptr) return;
  const auto from = array->values.begin() + row * static_cast<int64_t>(numbers->size());
  std::copy(from, from + static_cast<int64_t>(numbers->size()), numbers->begin());
}

void WriteRow(const Numbers& numbers, int64_t row, Array* array) {
  std::copy(numbers.begin(), numbers.end(),
            array->values.begin() + row * static_cast<int64_t>(numbers.size()));
}

Array BiasGradient(const Array& dinput, const Array& bias) {
  Array dbias(bias.dtype, bias.dims);
  const int64_t columns = dinput.dims[1];
  for (int64_t i = 0; i < dinput.size(); ++i) dbias[i % columns] += dinput[i];
  return dbias;
}

absl::StatusOr<LstmCell::Functions> FunctionsOf(const OpRun& op) {
  LstmCell::Functions functions;
  ASSIGN_OR_RETURN(functions.gate, GateFunctionOf("gate_activation", op.String("gate_activation")));
  ASSIGN_OR_RETURN(functions.cell, GateFunctionOf("cell_activation", op.String("cell_activation")));
  ASSIGN_OR_RETURN(functions.candidate,
                   GateFunctionOf("candidate_activation", op.String("candidate_activation")));
  return functions;
}

Numbers PeepholesOf(const OpRun& op, int64_t width) {
  const Numbers& bias = op.Input("Bias").values;
  return op.Bool("use_peepholes") ? Numbers(bias.begin() + 4 * width, bias.end()) : Numbers();
}

}  // namespace fixpoint::reference
