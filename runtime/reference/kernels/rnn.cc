// Layers of a recurrent network over padded steps.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/recurrent_shape.h"
#include "ops/recurrent_state.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/recurrence.h"

namespace fixpoint::reference {
namespace {

// The inputs of an rnn op or of its gradient op.
struct Network {
  RnnShape shape;
  const Array* input = nullptr;
  std::vector<const Array*> states;  // hidden states, cells
  std::vector<const Array*> weights;
  std::vector<int64_t> lengths;  // of the batch's entries
  int state_bits = 0;
  // The input and the matrices are codes, whose steps are in the scales of the matrices' columns.
  bool is_lowered = false;
  std::vector<const Array*> scales;
  double input_zero_point = 0;
};

absl::Status CheckScales(const Network& network) {
  const RnnShape& shape = network.shape;
  const size_t matrices = 2 * shape.layers * shape.directions;
  if (network.scales.size() != matrices) {
    return absl::InvalidArgumentError(
        absl::StrCat("Scales has ", network.scales.size(), " arguments; want one for each matrix"));
  }
  for (size_t i = 0; i < matrices; ++i) {
    if (network.scales[i]->size() == shape.gates() * shape.width) continue;
    return absl::InvalidArgumentError(absl::StrCat("Scales ", i, " is ",
                                                   DimsText(network.scales[i]->dims), "; want ",
                                                   shape.gates() * shape.width, " elements"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Network> NetworkOf(const OpRun& op) {
  Network network;
  network.input = &op.Input("Input");
  network.states = op.Inputs("PreState");
  network.weights = op.Inputs("WeightList");
  const Array* const lengths = op.FindInput("SequenceLength");
  ASSIGN_OR_RETURN(network.state_bits, StateBitsOf(op.attributes()));
  network.is_lowered = op.HasInputSlot("Scales");
  if (network.is_lowered) {
    network.scales = op.Inputs("Scales");
    network.input_zero_point = static_cast<double>(op.Int("input_zero_point"));
    RETURN_IF_ERROR(CheckStateBits(network.state_bits));
  }
  ASSIGN_OR_RETURN(network.shape, RnnShapeOf(op.attributes(), network.input->dims,
                                             !network.is_lowered && !op.Bool("is_test")));
  const auto dims_of = [](const std::vector<const Array*>& arrays) {
    std::vector<Dims> dims;
    for (const Array* array : arrays) dims.push_back(array->dims);
    return dims;
  };
  RETURN_IF_ERROR(CheckRnnInputs(network.shape, dims_of(network.states), dims_of(network.weights),
                                 lengths != nullptr ? std::optional(lengths->dims) : std::nullopt));
  if (network.is_lowered) RETURN_IF_ERROR(CheckScales(network));
  for (int64_t n = 0; n < network.shape.batch; ++n) {
    network.lengths.push_back(lengths != nullptr ? ToInt((*lengths)[n]) : network.shape.steps);
    if (network.lengths[n] < 0 || network.lengths[n] > network.shape.steps) {
      return absl::InvalidArgumentError(absl::StrCat(
          "SequenceLength ", n, " is ", network.lengths[n], "; want 0 to ", network.shape.steps));
    }
  }
  return network;
}

// values[i, j] = weight[j, i].
void FillTransposed(const Array& weight, WeightMatrix* matrix) {
  for (int64_t i = 0; i < matrix->rows; ++i) {
    for (int64_t j = 0; j < matrix->columns; ++j) {
      matrix->values[i * matrix->columns + j] = weight[j * matrix->rows + i];
    }
  }
}

// The gradient of a weight that was filled in so, of a cell that has walked back.
Array TransposedGradient(const WeightMatrix& matrix, const Array& like) {
  Array gradient(like.dtype, like.dims);
  for (int64_t i = 0; i < matrix.rows; ++i) {
    for (int64_t j = 0; j < matrix.columns; ++j) {
      gradient[j * matrix.rows + i] = matrix.gradient[i * matrix.columns + j];
    }
  }
  return gradient;
}

// A layer in one direction.
class Direction {
 public:
  Direction(const Network& network, int pair)
      : network_(network),
        shape_(network.shape),
        pair_(pair),
        of_input_(shape_.InputsOf(pair / shape_.directions), shape_.gates() * shape_.width) {
    Fill(RnnShape::InputWeight(pair), &of_input_);
    // The first layer reads no states.
    if (pair < shape_.directions) of_input_.state_bits = 0;
    const Array& bias = *network.weights[shape_.StateBias(pair)];
    switch (shape_.mode) {
      case RnnMode::kLstm: {
        auto cell = std::make_unique<LstmCell>(shape_.width, LstmCell::Places{0, 1, 2, 3},
                                               LstmCell::Functions());
        cell->weight = WeightMatrix(shape_.width, columns());
        of_state_ = &cell->weight;
        cell_ = std::move(cell);
        break;
      }
      case RnnMode::kGru: {
        auto cell = std::make_unique<ResetAfterGruCell>(shape_.width);
        cell->bias = bias.values;
        of_state_ = &cell->weight;
        of_bias_ = &cell->dbias;
        cell_ = std::move(cell);
        break;
      }
      default: {
        const bool is_tanh = shape_.mode == RnnMode::kTanh;
        auto cell = std::make_unique<PlainCell>(
            shape_.width, is_tanh ? GateFunction::kTanh : GateFunction::kRelu);
        of_state_ = &cell->weight;
        cell_ = std::move(cell);
      }
    }
    Fill(RnnShape::StateWeight(pair), of_state_);
    for (int64_t n = 0; n < shape_.batch; ++n) {
      std::vector<int64_t> path;
      for (int64_t t = 0; t < network.lengths[n]; ++t) path.push_back(t * shape_.batch + n);
      if (is_backward()) std::reverse(path.begin(), path.end());
      paths_.push_back(std::move(path));
    }
  }

  // Fills this direction's columns of `out` [rows, directions * width] and its part of `states`.
  void Run(const Numbers& input, Numbers* out, std::vector<Array>* states) {
    input_ = input;
    const Array& input_bias = *network_.weights[shape_.InputBias(pair_)];
    const Array& state_bias = *network_.weights[shape_.StateBias(pair_)];
    Numbers x(shape_.rows() * columns());
    for (int64_t row = 0; row < shape_.rows(); ++row) {
      for (int64_t j = 0; j < columns(); ++j) {
        x[row * columns() + j] = input_bias[j] + (of_bias_ == nullptr ? state_bias[j] : 0);
      }
      of_input_.AddProduct(InputAt(row), x.data() + row * columns());
    }
    for (int64_t n = 0; n < shape_.batch; ++n) {
      CellState state = StateOf(network_.states, n);
      steps_.push_back(Walk(*cell_, x, columns(), paths_[n], &state));
      for (size_t i = 0; i < paths_[n].size(); ++i) {
        std::copy(steps_[n][i].after.hidden.begin(), steps_[n][i].after.hidden.end(),
                  out->begin() + OutAt(paths_[n][i]));
      }
      for (size_t i = 0; i < states->size(); ++i) {
        const Numbers& from = i == 0 ? state.hidden : state.cell;
        std::copy(from.begin(), from.end(), (*states)[i].values.begin() + StateAt(n));
      }
    }
  }

  // REQUIRES: Run. Adds to the gradient of its input; where `dlast` is empty, the gradients of the
  // last states are 0.
  void RunBack(const Numbers& dout, const std::vector<const Array*>& dlast, Numbers* dinput,
               std::vector<Array>* dstates, std::vector<Array>* dweights) {
    Numbers dx(shape_.rows() * columns());
    for (int64_t n = 0; n < shape_.batch; ++n) {
      CellState gradient = StateOf(dlast, n);
      const auto add = [&](int64_t row, Numbers* dhidden) {
        for (int64_t j = 0; j < shape_.width; ++j) (*dhidden)[j] += dout[OutAt(row) + j];
      };
      WalkBack(*cell_, steps_[n], paths_[n], add, &gradient, &dx, columns());
      for (size_t i = 0; i < dstates->size(); ++i) {
        const Numbers& from = i == 0 ? gradient.hidden : gradient.cell;
        std::copy(from.begin(), from.end(), (*dstates)[i].values.begin() + StateAt(n));
      }
    }
    Numbers dbias(columns());
    for (int64_t row = 0; row < shape_.rows(); ++row) {
      Numbers drow(of_input_.rows);
      of_input_.AddProductBack(InputAt(row), dx.data() + row * columns(), &drow);
      for (int64_t i = 0; i < of_input_.rows; ++i) (*dinput)[row * of_input_.rows + i] += drow[i];
      for (int64_t j = 0; j < columns(); ++j) dbias[j] += dx[row * columns() + j];
    }
    const auto set = [&](int index, const Numbers& values) { (*dweights)[index].values = values; };
    (*dweights)[RnnShape::InputWeight(pair_)] =
        TransposedGradient(of_input_, *network_.weights[RnnShape::InputWeight(pair_)]);
    (*dweights)[RnnShape::StateWeight(pair_)] =
        TransposedGradient(*of_state_, *network_.weights[RnnShape::StateWeight(pair_)]);
    set(shape_.InputBias(pair_), dbias);
    set(shape_.StateBias(pair_), of_bias_ != nullptr ? *of_bias_ : dbias);
  }

 private:
  void Fill(int index, WeightMatrix* matrix) const {
    FillTransposed(*network_.weights[index], matrix);
    matrix->state_bits = network_.state_bits;
    if (!network_.is_lowered) return;
    matrix->is_of_codes = true;
    const Array& scales = *network_.scales[index];
    for (size_t i = 0; i < matrix->values.size(); ++i) {
      matrix->values[i] *= scales[static_cast<int64_t>(i) % matrix->columns];
    }
  }
  bool is_backward() const { return pair_ % shape_.directions == 1; }
  int64_t columns() const { return shape_.gates() * shape_.width; }
  int64_t OutAt(int64_t row) const {
    return (row * shape_.directions + pair_ % shape_.directions) * shape_.width;
  }
  int64_t StateAt(int64_t n) const { return (pair_ * shape_.batch + n) * shape_.width; }
  Numbers InputAt(int64_t row) const {
    return Numbers(input_.begin() + row * of_input_.rows,
                   input_.begin() + (row + 1) * of_input_.rows);
  }
  CellState StateOf(const std::vector<const Array*>& arrays, int64_t n) const {
    CellState state(shape_.width);
    for (size_t i = 0; i < arrays.size(); ++i) {
      const auto from = arrays[i]->values.begin() + StateAt(n);
      std::copy(from, from + shape_.width, (i == 0 ? state.hidden : state.cell).begin());
    }
    return state;
  }

  const Network& network_;
  const RnnShape& shape_;
  const int pair_;
  std::unique_ptr<Cell> cell_;
  WeightMatrix of_input_;
  WeightMatrix* of_state_ = nullptr;  // cell_'s
  Numbers* of_bias_ = nullptr;        // of a bias that only the product with the state has
  std::vector<std::vector<int64_t>> paths_;
  Numbers input_;
  std::vector<std::vector<CellStep>> steps_;
};

// All layers, run. The last of `outs` is what the network gives.
struct Layers {
  std::vector<std::unique_ptr<Direction>> directions;
  Numbers out;
  std::vector<Array> states;
};

Layers RunLayers(const Network& network) {
  const RnnShape& shape = network.shape;
  Layers layers;
  layers.out = network.input->values;
  for (double& x : layers.out) x -= network.input_zero_point;
  for (const Array* state : network.states) layers.states.emplace_back(state->dtype, state->dims);
  for (int layer = 0; layer < shape.layers; ++layer) {
    Numbers out(shape.rows() * shape.directions * shape.width);
    for (int d = 0; d < shape.directions; ++d) {
      layers.directions.push_back(
          std::make_unique<Direction>(network, layer * shape.directions + d));
      layers.directions.back()->Run(layers.out, &out, &layers.states);
    }
    layers.out = std::move(out);
  }
  return layers;
}

absl::Status Rnn(OpRun& op) {
  ASSIGN_OR_RETURN(const Network network, NetworkOf(op));
  Layers layers = RunLayers(network);
  Array out(network.is_lowered ? VarType::FP32 : network.input->dtype, network.shape.out_dims());
  out.values = std::move(layers.out);
  op.SetOutput("Out", std::move(out));
  for (size_t i = 0; i < layers.states.size(); ++i) {
    op.SetOutput("State", static_cast<int>(i), std::move(layers.states[i]));
  }
  if (network.is_lowered) return absl::OkStatus();
  // What the reference keeps for its gradient kernel; ours computes it again.
  const bool is_test = op.Bool("is_test");
  op.SetOutput("Reserve", Array(VarType::FP32, is_test ? Dims{0} : network.shape.reserve_dims()));
  op.SetOutput("DropoutState", Array(VarType::UINT8, is_test ? Dims{0} : network.shape.out_dims()));
  return absl::OkStatus();
}

absl::Status RnnGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const Network network, NetworkOf(op));
  const RnnShape& shape = network.shape;
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", shape.out_dims()));
  std::vector<const Array*> dlast = op.Inputs("State@GRAD");
  if (!dlast.empty() && static_cast<int>(dlast.size()) != shape.states()) {
    return absl::InvalidArgumentError(absl::StrCat("State@GRAD has ", dlast.size(),
                                                   " values; want ", shape.states(), " or none"));
  }
  for (const Array* array : dlast) {
    RETURN_IF_ERROR(CheckStateDims("State@GRAD", array->dims, shape.state_dims()));
  }
  const Layers layers = RunLayers(network);
  std::vector<Array> dstates;
  std::vector<Array> dweights;
  for (const Array* state : network.states) dstates.emplace_back(state->dtype, state->dims);
  for (const Array* weight : network.weights) dweights.emplace_back(weight->dtype, weight->dims);
  Numbers dout = op.Input("Out@GRAD").values;
  for (int layer = shape.layers - 1; layer >= 0; --layer) {
    Numbers dinput(shape.rows() * shape.InputsOf(layer));
    for (int d = 0; d < shape.directions; ++d) {
      layers.directions[layer * shape.directions + d]->RunBack(dout, dlast, &dinput, &dstates,
                                                               &dweights);
    }
    dout = std::move(dinput);
  }
  Array dinput(network.input->dtype, network.input->dims);
  dinput.values = std::move(dout);
  op.SetOutput("Input@GRAD", std::move(dinput));
  for (size_t i = 0; i < dstates.size(); ++i) {
    op.SetOutput("PreState@GRAD", static_cast<int>(i), std::move(dstates[i]));
  }
  for (size_t i = 0; i < dweights.size(); ++i) {
    op.SetOutput("WeightList@GRAD", static_cast<int>(i), std::move(dweights[i]));
  }
  return absl::OkStatus();
}

}  // namespace

Kernels RnnKernels() { return {{"rnn", Rnn}, {"integer_rnn", Rnn}, {"rnn_grad", RnnGradient}}; }

}  // namespace fixpoint::reference
