#include "ops/activation.h"

#include <glog/logging.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace fixpoint {
namespace {

// From an op's attributes to the function.
using FromAttributes = std::function<Activation(const OpAttributes& op, Era era)>;

struct Row {
  const char* type;
  FromAttributes activation;
};

float Number(const OpAttributes& op, const char* name) {
  return static_cast<float>(op.Float(name));
}

FromAttributes Of(ActivationFunction function) {
  return [=](const OpAttributes&, Era) { return Activation{function}; };
}
FromAttributes Of(ActivationFunction function, const char* a) {
  return [=](const OpAttributes& op, Era) { return Activation{function, Number(op, a)}; };
}
FromAttributes Of(ActivationFunction function, const char* a, const char* b) {
  return [=](const OpAttributes& op, Era) {
    return Activation{function, Number(op, a), Number(op, b)};
  };
}

const Row kRows[] = {
    // Before 2.0 the reference's relu lets a NaN pass; since then it gives 0.
    {"relu",
     [](const OpAttributes&, Era era) {
       return Activation{era == Era::kFluid ? ActivationFunction::kReluKeepingNan
                                            : ActivationFunction::kRelu};
     }},
    {"relu6",
     [](const OpAttributes& op, Era) {
       return Activation{ActivationFunction::kClip, 0, Number(op, "threshold")};
     }},
    {"leaky_relu", Of(ActivationFunction::kLeakyRelu, "alpha")},
    {"elu", Of(ActivationFunction::kElu, "alpha")},
    {"selu", Of(ActivationFunction::kSelu, "alpha", "scale")},
    {"brelu", Of(ActivationFunction::kClip, "t_min", "t_max")},
    {"thresholded_relu", Of(ActivationFunction::kThresholdedRelu, "threshold")},
    {"sigmoid", Of(ActivationFunction::kSigmoid)},
    {"tanh", Of(ActivationFunction::kTanh)},
    {"hard_sigmoid", Of(ActivationFunction::kHardSigmoid, "slope", "offset")},
    {"hard_swish",
     [](const OpAttributes& op, Era) {
       return Activation{ActivationFunction::kHardSwish, Number(op, "threshold"),
                         Number(op, "scale"), Number(op, "offset")};
     }},
    {"swish", Of(ActivationFunction::kSwish, "beta")},
    {"silu",
     [](const OpAttributes&, Era) {
       return Activation{ActivationFunction::kSwish, 1};
     }},
    {"gelu",
     [](const OpAttributes& op, Era) {
       return Activation{op.Bool("approximate") ? ActivationFunction::kGeluByTanh
                                                : ActivationFunction::kGelu};
     }},
    {"softplus", Of(ActivationFunction::kSoftplus, "beta", "threshold")},
    {"softsign", Of(ActivationFunction::kSoftsign)},
    {"logsigmoid", Of(ActivationFunction::kLogSigmoid)},
    {"soft_relu", Of(ActivationFunction::kSoftRelu, "threshold")},
    {"mish", Of(ActivationFunction::kMish, "threshold")},
    {"abs", Of(ActivationFunction::kAbs)},
    {"exp", Of(ActivationFunction::kExp)},
    {"log", Of(ActivationFunction::kLog)},
    {"sqrt", Of(ActivationFunction::kSqrt)},
    {"square", Of(ActivationFunction::kSquare)},
    {"rsqrt", Of(ActivationFunction::kRsqrt)},
    {"reciprocal", Of(ActivationFunction::kReciprocal)},
    {"pow", Of(ActivationFunction::kPow, "factor")},
    {"sin", Of(ActivationFunction::kSin)},
    {"cos", Of(ActivationFunction::kCos)},
    {"ceil", Of(ActivationFunction::kCeil)},
    {"floor", Of(ActivationFunction::kFloor)},
    {"round", Of(ActivationFunction::kRound)},
    {"sign", Of(ActivationFunction::kSign)},
};

}  // namespace

std::vector<std::string> ActivationTypes() {
  std::vector<std::string> types;
  for (const Row& row : kRows) types.push_back(row.type);
  return types;
}

Activation ActivationOf(absl::string_view type, const OpAttributes& attributes, Era era) {
  const Row* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                      [&](const Row& row) { return row.type == type; });
  CHECK(row != std::end(kRows)) << type;
  return row->activation(attributes, era);
}

}  // namespace fixpoint
