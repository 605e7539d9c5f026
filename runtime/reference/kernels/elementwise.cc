// Two tensors, element by element: arithmetic, comparisons, logic. X and Y broadcast (Pair,
// walk.h).

#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/lowered.h"
#include "runtime/reference/selected_rows.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

using Function = std::function<double(double x, double y)>;

struct Arithmetic {
  const char* type;
  Function value;
  // The derivatives with respect to x and to y.
  Function by_x;
  Function by_y;
};

// Where x = y the gradient of max and min goes to Y, as in the reference.
const Arithmetic kArithmetic[] = {
    {"elementwise_add", [](double x, double y) { return x + y; },
     [](double, double) { return 1.0; }, [](double, double) { return 1.0; }},
    {"elementwise_sub", [](double x, double y) { return x - y; },
     [](double, double) { return 1.0; }, [](double, double) { return -1.0; }},
    {"elementwise_mul", [](double x, double y) { return x * y; },
     [](double, double y) { return y; }, [](double x, double) { return x; }},
    {"elementwise_div", [](double x, double y) { return x / y; },
     [](double, double y) { return 1 / y; }, [](double x, double y) { return -x / (y * y); }},
    {"elementwise_max", [](double x, double y) { return std::isnan(x) || x > y ? x : y; },
     [](double x, double y) { return x > y ? 1.0 : 0.0; },
     [](double x, double y) { return x > y ? 0.0 : 1.0; }},
    {"elementwise_min", [](double x, double y) { return std::isnan(x) || x < y ? x : y; },
     [](double x, double y) { return x < y ? 1.0 : 0.0; },
     [](double x, double y) { return x < y ? 0.0 : 1.0; }},
    {"elementwise_pow", [](double x, double y) { return std::pow(x, y); },
     [](double x, double y) { return y * std::pow(x, y - 1); },
     [](double x, double y) { return std::pow(x, y) * std::log(x); }},
};

absl::Status Combine(OpRun& op, const Function& function, int64_t axis, VarType::Type dtype) {
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  ASSIGN_OR_RETURN(const Pairing pairing, Pair(x.dims, y.dims, axis));
  Array out(dtype, pairing.dims);
  ForEachPair(pairing,
              [&](int64_t i, int64_t x_i, int64_t y_i) { out[i] = function(x[x_i], y[y_i]); });
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

// Selected rows by one number are selected rows.
absl::Status Multiply(OpRun& op, const Function& function) {
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  if (x.rows == nullptr || y.size() != 1) return Combine(op, function, op.Int("axis"), x.dtype);
  op.SetSelectedRows("Out", WithRows(x, [&](double element) { return function(element, y[0]); }));
  return absl::OkStatus();
}

// An element that is used more than once gets the sum of its gradients.
absl::Status CombineGradient(OpRun& op, const Arithmetic& arithmetic) {
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  const Array& dout = op.Input("Out@GRAD");
  ASSIGN_OR_RETURN(const Pairing pairing, Pair(x.dims, y.dims, op.Int("axis")));
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", pairing.dims));
  Array dx(x.dtype, x.dims);
  Array dy(y.dtype, y.dims);
  ForEachPair(pairing, [&](int64_t i, int64_t x_i, int64_t y_i) {
    dx[x_i] += dout[i] * arithmetic.by_x(x[x_i], y[y_i]);
    dy[y_i] += dout[i] * arithmetic.by_y(x[x_i], y[y_i]);
  });
  op.SetOutput("X@GRAD", std::move(dx));
  op.SetOutput("Y@GRAD", std::move(dy));
  return absl::OkStatus();
}

// The products of codes are integers, which have no -0.
absl::Status MultiplyCodes(OpRun& op) {
  RETURN_IF_ERROR(CheckCodes(op, "X"));
  RETURN_IF_ERROR(CheckCodes(op, "Y"));
  RETURN_IF_ERROR(op.CheckSize("Scales", 1));
  const Array& x = op.Input("X");
  const Array& y = op.Input("Y");
  const auto scale = static_cast<float>(op.Input("Scales")[0]);
  ASSIGN_OR_RETURN(const float x_zero, ZeroPointOf(op, "input_zero_point", x.dtype));
  ASSIGN_OR_RETURN(const float y_zero, ZeroPointOf(op, "weight_zero_point", y.dtype));
  ASSIGN_OR_RETURN(const Pairing pairing, Pair(x.dims, y.dims, op.Int("axis")));
  const auto rank = static_cast<int>(pairing.dims.size());
  if (rank == 0) return absl::UnimplementedError("X and Y are scalars; want dimensions");
  Array products(VarType::FP64, pairing.dims);
  ForEachPair(pairing, [&](int64_t i, int64_t x_i, int64_t y_i) {
    const double product = (x[x_i] - x_zero) * (y[y_i] - y_zero) + 0.0;
    products[i] = static_cast<float>(product) * scale;
  });
  ASSIGN_OR_RETURN(Array out, StoreNumbers(op, std::move(products), rank == 4 ? 1 : rank - 1));
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

struct Comparison {
  const char* type;
  std::function<bool(double x, double y)> value;
};

const Comparison kComparisons[] = {
    {"equal", std::equal_to<double>()},       {"not_equal", std::not_equal_to<double>()},
    {"less_than", std::less<double>()},       {"less_equal", std::less_equal<double>()},
    {"greater_than", std::greater<double>()}, {"greater_equal", std::greater_equal<double>()},
};

// These have no axis.
const Comparison kLogic[] = {
    {"logical_and", [](double x, double y) { return x != 0 && y != 0; }},
    {"logical_or", [](double x, double y) { return x != 0 || y != 0; }},
    {"logical_xor", [](double x, double y) { return (x != 0) != (y != 0); }},
};

absl::Status LogicalNot(OpRun& op) {
  const Array& x = op.Input("X");
  Array out(VarType::BOOL, x.dims);
  for (int64_t i = 0; i < out.size(); ++i) out[i] = x[i] == 0;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status IsEmpty(OpRun& op) {
  Array out(VarType::BOOL, Dims{1});
  out[0] = op.Input("X").size() == 0;
  op.SetOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels ElementwiseKernels() {
  Kernels kernels = {{"logical_not", LogicalNot},
                     {"is_empty", IsEmpty},
                     {"integer_elementwise_mul", MultiplyCodes}};
  for (const Arithmetic& arithmetic : kArithmetic) {
    const bool multiplies = arithmetic.type == absl::string_view("elementwise_mul");
    kernels.push_back({arithmetic.type, [&arithmetic, multiplies](OpRun& op) {
                         if (multiplies) return Multiply(op, arithmetic.value);
                         return Combine(op, arithmetic.value, op.Int("axis"), op.Input("X").dtype);
                       }});
    kernels.push_back({std::string(arithmetic.type) + "_grad",
                       [&arithmetic](OpRun& op) { return CombineGradient(op, arithmetic); }});
  }
  for (const Comparison& comparison : kComparisons) {
    kernels.push_back({comparison.type, [&comparison](OpRun& op) {
                         return Combine(op, comparison.value, op.Int("axis"), VarType::BOOL);
                       }});
  }
  for (const Comparison& logic : kLogic) {
    kernels.push_back(
        {logic.type, [&logic](OpRun& op) { return Combine(op, logic.value, -1, VarType::BOOL); }});
  }
  return kernels;
}

}  // namespace fixpoint::reference
