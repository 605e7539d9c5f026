// Whether numbers are finite.

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/reference/kernels.h"

namespace fixpoint::reference {
namespace {

using IsSo = bool (*)(double value);
bool IsFinite(double value) { return std::isfinite(value); }
bool IsInfinite(double value) { return std::isinf(value); }
bool IsNan(double value) { return std::isnan(value); }

absl::Status OfEach(OpRun& op, IsSo is_so) {
  const Array& x = op.Input("X");
  Array out(VarType::BOOL, x.dims);
  for (int64_t i = 0; i < x.size(); ++i) out[i] = is_so(x[i]);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status OfTensor(OpRun& op, IsSo is_so, bool of_all) {
  const Array& x = op.Input("X");
  Array out(VarType::BOOL, {1});
  out[0] = of_all ? std::all_of(x.values.begin(), x.values.end(), is_so)
                  : std::any_of(x.values.begin(), x.values.end(), is_so);
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels FiniteKernels() {
  return {{"isfinite", [](OpRun& op) { return OfTensor(op, IsFinite, /*of_all=*/true); }},
          {"isinf", [](OpRun& op) { return OfTensor(op, IsInfinite, /*of_all=*/false); }},
          {"isnan", [](OpRun& op) { return OfTensor(op, IsNan, /*of_all=*/false); }},
          {"isfinite_v2", [](OpRun& op) { return OfEach(op, IsFinite); }},
          {"isinf_v2", [](OpRun& op) { return OfEach(op, IsInfinite); }},
          {"isnan_v2", [](OpRun& op) { return OfEach(op, IsNan); }}};
}

}  // namespace fixpoint::reference
