// mul, matmul and matmul_v2. Where both inputs are codes the sums are those of integers; the
// gradients read the numbers that the codes stand for.

#include "runtime/kernels/product.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/integer_operands.h"
#include "runtime/kernels/integer_product.h"

namespace fixpoint::executor {
namespace {

using kernels::ProductShape;

int64_t Volume(DimsView dims) {
  int64_t volume = 1;
  for (const int64_t dim : dims) volume *= dim;
  return volume;
}

absl::Status DoNotFit(const OpPlanner& op) {
  return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(op.InputDims("X")), " and Y ",
                                                 DimsText(op.InputDims("Y")),
                                                 "; want matrices that can be multiplied"));
}

// Each flattened to a matrix.
absl::StatusOr<ProductShape> MulShape(const OpPlanner& op) {
  const DimsView x = op.InputDims("X");
  const DimsView y = op.InputDims("Y");
  const int64_t x_rows = op.attributes().Int("x_num_col_dims");
  const int64_t y_rows = op.attributes().Int("y_num_col_dims");
  const auto splits = [](DimsView dims, int64_t at) {
    return at >= 1 && at < static_cast<int64_t>(dims.size());
  };
  if (!splits(x, x_rows) || !splits(y, y_rows)) return DoNotFit(op);
  ProductShape shape;
  shape.rows = Volume(x.subspan(0, x_rows));
  shape.inner = Volume(x.subspan(x_rows));
  shape.columns = Volume(y.subspan(y_rows));
  if (Volume(y.subspan(0, y_rows)) != shape.inner) return DoNotFit(op);
  return shape;
}

// The last two dimensions, those before them equal. A Y without those is the same for all.
absl::StatusOr<ProductShape> BatchedShape(const OpPlanner& op, bool transpose_x, bool transpose_y) {
  const DimsView x = op.InputDims("X");
  const DimsView y = op.InputDims("Y");
  if (x.size() < 2 || y.size() < 2) {
    return absl::UnimplementedError(
        absl::StrCat("X is ", DimsText(x), " and Y ", DimsText(y), "; want 2 dimensions or more"));
  }
  ProductShape shape;
  shape.transpose_x = transpose_x;
  shape.transpose_y = transpose_y;
  shape.batch = Volume(x.first(x.size() - 2));
  shape.rows = x[x.size() - (transpose_x ? 1 : 2)];
  shape.inner = x[x.size() - (transpose_x ? 2 : 1)];
  shape.columns = y[y.size() - (transpose_y ? 2 : 1)];
  if (y[y.size() - (transpose_y ? 1 : 2)] != shape.inner) return DoNotFit(op);
  if (x.first(x.size() - 2) == y.first(y.size() - 2)) return shape;
  if (y.size() == 2 && !transpose_x) {
    shape.rows *= std::exchange(shape.batch, 1);
    return shape;
  }
  return absl::UnimplementedError(absl::StrCat("X is ", DimsText(x), " and Y ", DimsText(y),
                                               "; want equal leading dimensions"));
}

absl::StatusOr<ProductShape> MatmulShape(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  if (attributes.Float("alpha") != 1 || attributes.Int("head_number") != 1 ||
      !attributes.Ints("fused_reshape_Out").empty() ||
      !attributes.Ints("fused_transpose_Out").empty()) {
    return absl::UnimplementedError(
        "alpha is not 1, or a reshape, a transpose or heads are fused; want a product alone");
  }
  return BatchedShape(op, attributes.Bool("transpose_X"), attributes.Bool("transpose_Y"));
}

absl::StatusOr<ProductShape> MatmulV2Shape(const OpPlanner& op) {
  return BatchedShape(op, op.attributes().Bool("trans_x"), op.attributes().Bool("trans_y"));
}

using ShapeFunction = absl::StatusOr<ProductShape> (*)(const OpPlanner& op);

int64_t OperationsOf(const ProductShape& shape) { return 2 * shape.out_size() * shape.inner; }

// Adds the step that computes out = x * y.
absl::Status AddProduct(OpPlanner& op, const ProductShape& shape, Buffer x, Buffer y, Buffer out,
                        std::string name = "") {
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::Product> product, kernels::Product::Plan(shape));
  op.AddStep({{x, y},
              {out},
              [=](const StepContext& run) {
                product->Run(run.Floats(x), run.Floats(y), run.Floats(out));
                return absl::OkStatus();
              },
              product->implementation(),
              OperationsOf(shape),
              std::move(name)});
  return absl::OkStatus();
}

absl::Status PlanProduct(OpPlanner& op, ShapeFunction shape_of) {
  ASSIGN_OR_RETURN(const ProductShape shape, shape_of(op));
  ASSIGN_OR_RETURN(const Buffer out, op.Write("Out"));
  // The scales are of the columns of Y: of an axis, unless several are flattened to columns.
  const Dims& y_dims = op.InputDims("Y");
  int column_axis = static_cast<int>(y_dims.size()) - (shape.transpose_y ? 2 : 1);
  if (y_dims[column_axis] != shape.columns) column_axis = -1;
  ASSIGN_OR_RETURN(const std::optional<IntegerOperands> integers,
                   ReadIntegerOperands(op, "X", Layout::kRowMajor, "Y", column_axis));
  if (integers && shape.batch == 1) {
    auto sums = kernels::PlanIntegerProduct(shape, integers->inputs.type);
    if (sums.ok()) {
      AddIntegerSums(op, *integers, *std::move(sums), shape.columns, OperationsOf(shape), out);
      return absl::OkStatus();
    }
    // A sum that may not fit in 32 bits is one of floats.
    if (!absl::IsInvalidArgument(sums.status())) return sums.status();
  }
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  return AddProduct(op, shape, x, y, out);
}

// With A = X or its transpose, and B = Y or its transpose: dA = dOut * B^T and dB = A^T * dOut,
// and dX and dY are those or their transposes.
absl::Status PlanGradient(OpPlanner& op, ShapeFunction shape_of) {
  ASSIGN_OR_RETURN(const ProductShape s, shape_of(op));
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  if (dout.size != s.out_size()) return DoNotFit(op);
  if (op.Wants("Y@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
    const Buffer dy = op.WriteAs("Y@GRAD", op.InputType("Y"));
    const std::string name = absl::StrCat(op.op().type(), " of Y");
    const ProductShape shape =
        s.transpose_y ? ProductShape{s.batch, s.columns, s.rows, s.inner, true, s.transpose_x}
                      : ProductShape{s.batch, s.inner, s.rows, s.columns, !s.transpose_x, false};
    RETURN_IF_ERROR(s.transpose_y ? AddProduct(op, shape, dout, x, dy, name)
                                  : AddProduct(op, shape, x, dout, dy, name));
  }
  if (op.Wants("X@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
    const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
    const std::string name = absl::StrCat(op.op().type(), " of X");
    const ProductShape shape =
        s.transpose_x ? ProductShape{s.batch, s.inner, s.columns, s.rows, s.transpose_y, true}
                      : ProductShape{s.batch, s.rows, s.columns, s.inner, false, !s.transpose_y};
    RETURN_IF_ERROR(s.transpose_x ? AddProduct(op, shape, y, dout, dx, name)
                                  : AddProduct(op, shape, dout, y, dx, name));
  }
  return absl::OkStatus();
}

}  // namespace

OpPlans ProductPlans() {
  OpPlans plans;
  const std::pair<const char*, ShapeFunction> products[] = {
      {"mul", MulShape}, {"matmul", MatmulShape}, {"matmul_v2", MatmulV2Shape}};
  for (const auto& [type, shape_of] : products) {
    plans.push_back(
        {type, [=, shape_of = shape_of](OpPlanner& op) { return PlanProduct(op, shape_of); }});
    plans.push_back({absl::StrCat(type, "_grad"), [=, shape_of = shape_of](OpPlanner& op) {
                       return PlanGradient(op, shape_of);
                     }});
  }
  return plans;
}

}  // namespace fixpoint::executor
