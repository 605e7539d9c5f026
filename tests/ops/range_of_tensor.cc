#include "tests/ops/range_of_tensor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

using Numbers = std::vector<double>;

template <typename Function>
Numbers Map(Numbers x, const Function& function) {
  for (double& value : x) value = function(value);
  return x;
}

double Sum(const Numbers& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

// The ops that quantizers here and in examples/out_of_tree write.
absl::StatusOr<Numbers> Compute(const OpDesc& op, const Numbers& x) {
  if (op.type() == "square") return Map(x, [](double v) { return v * v; });
  if (op.type() == "sqrt") return Map(x, [](double v) { return std::sqrt(v); });
  if (op.type() == "scale") {
    const double factor = FloatAttr(op, "scale").value_or(1);
    const double bias = FloatAttr(op, "bias").value_or(0);
    return Map(x, [=](double v) { return factor * v + bias; });
  }
  if (op.type() == "reduce_mean") return Numbers{Sum(x) / x.size()};
  if (op.type() == "squared_l2_norm") return Numbers{Sum(Map(x, [](double v) { return v * v; }))};
  return absl::UnimplementedError(
      absl::StrCat("tests/ops/range_of_tensor.cc does not compute ", op.type(), "; add it there"));
}

double AbsMaxOf(const Numbers& x) {
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::fabs(value));
  return largest;
}

}  // namespace

absl::StatusOr<float> RangeOfTensor(const Quantizer& quantizer, const QuantSpec& spec,
                                    const std::vector<float>& values) {
  const std::string value = Quantizer::kValue;
  std::map<std::string, Numbers> computed = {{value, {values.begin(), values.end()}}};
  std::string last = value;
  for (const OpDesc& op : quantizer.SummaryOps(spec, Era::kPaddle2)) {
    ASSIGN_OR_RETURN(Numbers result, Compute(op, computed[op.inputs(0).arguments(0)]));
    last = op.outputs(0).arguments(0);
    computed[last] = std::move(result);
  }
  return static_cast<float>(AbsMaxOf(computed[last]));
}

}  // namespace fixpoint
