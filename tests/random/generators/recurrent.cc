// Recurrent networks.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

// The states that a recurrence makes of such weights neither explode nor are all 1.
std::string Weights(CaseMaker& c, const Dims& dims) { return c.Numbers(dims, -0.7f, 0.7f); }

// One that bounds what it gives, or any. States grow without bound where none of the functions of a
// cell does it.
std::string SomeFunction(CaseMaker& c, bool is_bounded) {
  return is_bounded ? c.OneOf<std::string>({"sigmoid", "tanh"})
                    : c.OneOf<std::string>({"sigmoid", "tanh", "identity", "relu"});
}

// Rows of projections, cut into `count` sequences at least one of which has rows.
std::string Projections(CaseMaker& c, int64_t rows, int64_t columns, int64_t* count) {
  const std::string x = c.Numbers({rows, columns}, -1.0f, 1.0f);
  c.CutIntoSequences(x);
  *count = static_cast<int64_t>(c.Input(x).lod().back().size()) - 1;
  return x;
}

void Lstm(CaseMaker& c) {
  const bool is_bounded = !c.OneIn(3);
  const int64_t rows = c.Between(1, is_bounded ? 20 : 3);
  const int64_t width = c.Between(1, 20);
  int64_t sequences = 0;
  const std::string x = Projections(c, rows, 4 * width, &sequences);
  const bool has_peepholes = c.OneIn(2);
  std::string first;
  if (c.OneIn(2)) {
    const std::string hidden = c.Numbers({sequences, width}, -1.0f, 1.0f);
    const std::string cell = c.Numbers({sequences, width}, -1.0f, 1.0f);
    first = absl::StrCat(", H0=", hidden, ", C0=", cell);
  }
  const std::string weight = Weights(c, {width, 4 * width});
  const std::string bias = Weights(c, {1, (has_peepholes ? 7 : 4) * width});
  c.Op("lstm(Input=", x, first, ", Weight=", weight, ", Bias=", bias,
       ") -> (Hidden=hidden, Cell=cell, BatchGate=gate, BatchCellPreAct=cells) {use_peepholes=",
       BoolText(has_peepholes), ", is_reverse=", BoolText(c.OneIn(2)), ", gate_activation=\"",
       SomeFunction(c, is_bounded), "\", cell_activation=\"", SomeFunction(c, is_bounded),
       "\", candidate_activation=\"", SomeFunction(c, is_bounded), "\"}");
  c.Sums(4 * width * rows);
}

void ProjectedLstm(CaseMaker& c) {
  c.set_era(Era::kFluid);
  const int64_t rows = c.Between(1, 20);
  const int64_t width = c.Between(1, 12);
  const int64_t states = c.Between(1, 12);
  int64_t sequences = 0;
  const std::string x = Projections(c, rows, 4 * width, &sequences);
  const bool has_peepholes = c.OneIn(2);
  std::string first;
  if (c.OneIn(2)) {
    const std::string hidden = c.Numbers({sequences, states}, -1.0f, 1.0f);
    const std::string cell = c.Numbers({sequences, width}, -1.0f, 1.0f);
    first = absl::StrCat(", H0=", hidden, ", C0=", cell);
  }
  const std::string weight = Weights(c, {states, 4 * width});
  const std::string projecting = Weights(c, {width, states});
  const std::string bias = Weights(c, {1, (has_peepholes ? 7 : 4) * width});
  c.Op("lstmp(Input=", x, first, ", Weight=", weight, ", ProjWeight=", projecting, ", Bias=", bias,
       ") -> (Projection=out, Cell=cell, BatchGate=gate, BatchCellPreAct=cells, "
       "BatchHidden=hidden) {use_peepholes=",
       BoolText(has_peepholes), ", is_reverse=", BoolText(c.OneIn(2)), "}");
  c.Sums(4 * (width + states) * rows);
}

void Gru(CaseMaker& c) {
  const bool is_bounded = !c.OneIn(3);
  const int64_t rows = c.Between(1, is_bounded ? 20 : 3);
  const int64_t width = c.Between(1, 20);
  int64_t sequences = 0;
  const std::string x = Projections(c, rows, 3 * width, &sequences);
  std::string others;
  if (c.OneIn(2)) {
    absl::StrAppend(&others, ", H0=", c.Numbers({sequences, width}, -1.0f, 1.0f));
  }
  absl::StrAppend(&others, ", Weight=", Weights(c, {width, 3 * width}));
  if (c.OneIn(2)) absl::StrAppend(&others, ", Bias=", Weights(c, {1, 3 * width}));
  c.Op("gru(Input=", x, others,
       ") -> (Hidden=hidden, BatchGate=gate, BatchResetHiddenPrev=reset, BatchHidden=states) "
       "{is_reverse=",
       BoolText(c.OneIn(2)), ", origin_mode=", BoolText(c.OneIn(2)), ", gate_activation=\"",
       is_bounded ? "sigmoid" : SomeFunction(c, false), "\", activation=\"",
       SomeFunction(c, is_bounded), "\"}");
  c.Sums(3 * width * rows);
}

void GruUnit(CaseMaker& c) {
  const int64_t rows = c.Between(1, 20);
  const int64_t width = c.Between(1, 20);
  const std::string x = c.Numbers({rows, 3 * width}, -1.0f, 1.0f);
  const std::string hidden = c.Numbers({rows, width}, -1.0f, 1.0f);
  std::string others = absl::StrCat(", Weight=", Weights(c, {width, 3 * width}));
  if (c.OneIn(2)) absl::StrAppend(&others, ", Bias=", Weights(c, {1, 3 * width}));
  c.Op("gru_unit(Input=", x, ", HiddenPrev=", hidden, others,
       ") -> (Gate=gate, ResetHiddenPrev=reset, Hidden=out) {origin_mode=", BoolText(c.OneIn(2)),
       ", gate_activation=", c.Between(0, 3), ", activation=", c.Between(0, 3), "}");
  c.Sums(std::max(3 * width, rows));
}

void LstmUnit(CaseMaker& c) {
  const int64_t rows = c.Between(1, 20);
  const int64_t width = c.Between(1, 20);
  c.set_era(Era::kFluid);
  const std::string x = c.Numbers({rows, 4 * width});
  c.Op("lstm_unit(X=", x, ", C_prev=", c.Numbers({rows, width}),
       ") -> (C=c, H=h) {forget_bias=", FloatText(c.Between(-1.0f, 1.0f)), "}");
}

void Rnn(CaseMaker& c) {
  const std::string mode = c.OneOf<std::string>({"LSTM", "GRU", "RNN_TANH", "RNN_RELU"});
  const int64_t gates = mode == "LSTM" ? 4 : mode == "GRU" ? 3 : 1;
  const int states = mode == "LSTM" ? 2 : 1;
  const int layers = c.Between(1, 3);
  const int directions = c.Between(1, 2);
  const int64_t steps = c.Between(1, 8);
  const int64_t batch = c.Between(1, 6);
  const int64_t inputs = c.Between(1, 20);
  const int64_t width = c.Between(1, 20);
  const std::string x = c.Numbers({steps, batch, inputs}, -1.0f, 1.0f);
  std::vector<std::string> first;
  for (int i = 0; i < states; ++i) {
    first.push_back(c.Numbers({layers * directions, batch, width}, -1.0f, 1.0f));
  }
  std::vector<std::string> weights;
  for (int pair = 0; pair < layers * directions; ++pair) {
    const int64_t columns = pair < directions ? inputs : directions * width;
    weights.push_back(Weights(c, {gates * width, columns}));
    weights.push_back(Weights(c, {gates * width, width}));
  }
  for (int i = 0; i < 2 * layers * directions; ++i) {
    weights.push_back(Weights(c, {gates * width}));
  }
  std::string lengths;
  if (c.OneIn(2)) {
    lengths =
        absl::StrCat(", SequenceLength=",
                     c.Integers(c.OneIn(2) ? VarType::INT32 : VarType::INT64, {batch}, 0, steps));
  }
  c.Op("rnn(Input=", x, ", PreState=", ListText(first), ", WeightList=", ListText(weights), lengths,
       ") -> (Out=out, State=", states == 2 ? "[hidden, cell]" : "[hidden]",
       ", Reserve=reserve, DropoutState=dropout) {mode=\"", mode, "\", num_layers=", layers,
       ", is_bidirec=", BoolText(directions == 2), ", input_size=", inputs, ", hidden_size=", width,
       ", is_test=false}");
  c.Sums(4 * std::max(inputs, 2 * width) * steps * layers * directions);
}

// Of ops on integers. They take one step: the backends' states after it are a rounding apart, which
// a code would show.

// Each a sum of at most 20 products multiplied by its scale is not large.
std::string Scales(CaseMaker& c, int64_t columns) { return c.Numbers({columns}, 1e-6f, 2e-5f); }

std::string StateBitsText(CaseMaker& c) {
  return absl::StrCat("state_bits=", c.OneOf<int>({4, 8, 16}));
}

Generator OfOneSequence(const std::string& type, int gates) {
  return [type, gates](CaseMaker& c) {
    const bool is_lstm = gates == 4;
    const int64_t width = c.Between(1, is_lstm ? 20 : 3);
    int64_t sequences = 0;
    const std::string x = Projections(c, 1, gates * width, &sequences);
    std::string others = absl::StrCat(", H0=", c.Numbers({sequences, width}, -1.5f, 1.5f));
    if (is_lstm) absl::StrAppend(&others, ", C0=", c.Numbers({sequences, width}, -1.0f, 1.0f));
    absl::StrAppend(&others, ", Weight=", c.Codes(VarType::INT8, {width, gates * width}, -127, 127),
                    ", Scales=", Scales(c, gates * width),
                    ", Bias=", Weights(c, {1, gates * width}));
    c.Op(type, "(Input=", x, others, ") -> (Hidden=hidden", is_lstm ? ", Cell=cell" : "", ") {",
         StateBitsText(c), is_lstm ? ", use_peepholes=false}" : "}");
    c.Sums(gates * width);
  };
}

void RnnOfCodes(CaseMaker& c) {
  const std::string mode = c.OneOf<std::string>({"LSTM", "GRU", "RNN_TANH"});
  const int64_t gates = mode == "LSTM" ? 4 : mode == "GRU" ? 3 : 1;
  const int directions = c.Between(1, 2);
  const int64_t batch = c.Between(1, 6);
  const int64_t inputs = c.Between(1, 20);
  const int64_t width = c.Between(1, 20);
  const bool is_unsigned = c.OneIn(2);
  const std::string x = is_unsigned ? c.Codes(VarType::UINT8, {1, batch, inputs}, 0, 255)
                                    : c.Codes(VarType::INT8, {1, batch, inputs}, -127, 127);
  std::vector<std::string> first;
  for (int i = 0; i < (mode == "LSTM" ? 2 : 1); ++i) {
    first.push_back(c.Numbers({directions, batch, width}, -1.5f, 1.5f));
  }
  std::vector<std::string> weights;
  std::vector<std::string> scales;
  for (int i = 0; i < 2 * directions; ++i) {
    weights.push_back(
        c.Codes(VarType::INT8, {gates * width, i % 2 == 0 ? inputs : width}, -127, 127));
    scales.push_back(Scales(c, gates * width));
  }
  for (int i = 0; i < 2 * directions; ++i) weights.push_back(Weights(c, {gates * width}));
  c.Op("integer_rnn(Input=", x, ", PreState=", ListText(first), ", WeightList=", ListText(weights),
       ", Scales=", ListText(scales),
       ") -> (Out=out, State=", mode == "LSTM" ? "[hidden, cell]" : "[hidden]", ") {mode=\"", mode,
       "\", num_layers=1, is_bidirec=", BoolText(directions == 2), ", input_size=", inputs,
       ", hidden_size=", width, ", input_zero_point=", is_unsigned ? c.Between(0, 255) : 0, ", ",
       StateBitsText(c), "}");
  c.Sums(4 * std::max(inputs, 2 * width));
}

}  // namespace

Generators RecurrentGenerators() {
  return {{"lstm", Lstm},
          {"lstmp", ProjectedLstm},
          {"gru", Gru},
          {"gru_unit", GruUnit},
          {"lstm_unit", LstmUnit},
          {"rnn", Rnn},
          {"integer_lstm", OfOneSequence("integer_lstm", 4)},
          {"integer_gru", OfOneSequence("integer_gru", 3)},
          {"integer_rnn", RnnOfCodes}};
}

}  // namespace fixpoint::random_cases
