// mul, matmul, matmul_v2 and fc. Where both inputs are codes, the sums are computed on integers.

#include "runtime/executor/ops/product.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/fused_work.h"
#include "ops/op_traits.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/epilogue.h"
#include "runtime/executor/ops/on_integers.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/executor/ops/product_gradient.h"
#include "runtime/kernels/arithmetic.h"
#include "runtime/kernels/integer_product.h"
#include "runtime/kernels/product.h"
#include "runtime/kernels/reduction.h"
#include "runtime/kernels/strided_copy.h"
#include "runtime/kernels/wide_sums.h"

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

// Leading dimensions beside each other: 1s in front of the fewer, each that of one, or of both.
absl::StatusOr<Dims> BroadcastLeading(const OpPlanner& op, Dims* x, Dims* y) {
  const size_t rank = std::max(x->size(), y->size());
  x->insert(x->begin(), rank - x->size(), 1);
  y->insert(y->begin(), rank - y->size(), 1);
  Dims both;
  for (size_t i = 0; i < rank; ++i) {
    if ((*x)[i] != (*y)[i] && (*x)[i] != 1 && (*y)[i] != 1) return DoNotFit(op);
    both.push_back(std::max((*x)[i], (*y)[i]));
  }
  return both;
}

// The last two dimensions; those before them broadcast. A vector X is a row and a vector Y a
// column.
absl::StatusOr<PlannedProduct> BatchedProduct(const OpPlanner& op, bool transpose_x,
                                              bool transpose_y, double alpha) {
  Dims x = op.InputDims("X");
  Dims y = op.InputDims("Y");
  if (x.size() == 1) x.insert(x.begin(), 1);
  if (y.size() == 1) y.push_back(1);
  PlannedProduct product;
  product.alpha = static_cast<float>(alpha);
  ProductShape& shape = product.shape;
  shape.transpose_x = transpose_x;
  shape.transpose_y = transpose_y;
  shape.rows = x[x.size() - (transpose_x ? 1 : 2)];
  shape.inner = x[x.size() - (transpose_x ? 2 : 1)];
  shape.columns = y[y.size() - (transpose_y ? 2 : 1)];
  if (y[y.size() - (transpose_y ? 1 : 2)] != shape.inner) return DoNotFit(op);
  x.resize(x.size() - 2);
  y.resize(y.size() - 2);
  // If all matrices of X have the same Y, they are one matrix with all their rows.
  if (Volume(y) == 1 && !transpose_x) {
    shape.rows *= Volume(x);
    return product;
  }
  ASSIGN_OR_RETURN(Dims both, BroadcastLeading(op, &x, &y));
  shape.batch = Volume(both);
  const auto with_matrix = [](Dims leading, int64_t size) {
    leading.push_back(size);
    return leading;
  };
  const int64_t x_size = shape.rows * shape.inner;
  const int64_t y_size = shape.inner * shape.columns;
  if (x != both) product.x = Repetition{with_matrix(x, x_size), with_matrix(both, x_size)};
  if (y != both) product.y = Repetition{with_matrix(y, y_size), with_matrix(both, y_size)};
  return product;
}

absl::StatusOr<PlannedProduct> MatmulProduct(const OpPlanner& op) {
  const OpAttributes& attributes = op.attributes();
  RETURN_IF_ERROR(CheckMatmulAlone(attributes));
  return BatchedProduct(op, attributes.Bool("transpose_X"), attributes.Bool("transpose_Y"),
                        attributes.Float("alpha"));
}

// As many matrices in X and Y.
absl::StatusOr<PlannedProduct> BmmProduct(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& y = op.InputDims("Y");
  if (x.size() == 3 && y.size() == 3 && x[0] == y[0]) return BatchedProduct(op, false, false, 1);
  return absl::InvalidArgumentError(absl::StrCat("X is ", DimsText(x), " and Y is ", DimsText(y),
                                                 "; want as many matrices in both"));
}

using ProductFunction = absl::StatusOr<PlannedProduct> (*)(const OpPlanner& op);

// What a product writes: its columns are the last axis.
EpilogueInput MatrixOf(const TensorType& type) {
  return {"Out", type, static_cast<int>(type.dims.size()) - 1, Layout::kRowMajor};
}

absl::StatusOr<bool> PlanProductOnIntegers(OpPlanner& op, const EpilogueInput& output,
                                           const ProductShape& shape) {
  return PlanOnIntegers(
      op, output, OperationsOf(shape),
      [&](const auto&... coding) { return kernels::PlanIntegerProduct(shape, coding...); },
      [&](const kernels::Epilogue& epilogue) { return kernels::WideSums::Plan(shape, epilogue); });
}

absl::Status PlanProduct(OpPlanner& op, ProductFunction product_of) {
  ASSIGN_OR_RETURN(const PlannedProduct product, product_of(op));
  const ProductShape& shape = product.shape;
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  const EpilogueInput output = MatrixOf(type);
  ASSIGN_OR_RETURN(const bool is_planned, PlanProductOnIntegers(op, output, shape));
  if (is_planned) return absl::OkStatus();
  ASSIGN_OR_RETURN(Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(Buffer y, ReadWeightFloats(op, "Y"));
  ASSIGN_OR_RETURN(x, Repeated(op, "X", x, product.x));
  ASSIGN_OR_RETURN(y, Repeated(op, "Y", y, product.y));
  if (product.alpha == 1) {
    // The columns are the last axis, except for a vector.
    const bool has_columns = type.dims.back() == shape.columns;
    return AddForwardProduct(op, shape, x, y, output, {},
                             has_columns ? FindOpsAfter(op, output) : OpsAfter());
  }
  ASSIGN_OR_RETURN(const Buffer out, op.Write("Out"));
  return AddProduct(op, shape, product.alpha, x, y, out);
}

absl::Status PlanFc(OpPlanner& op) {
  // Padded weights have other shapes too: this is the error to give.
  RETURN_IF_ERROR(OwnWorkOf(op.op(), op.attributes()).status());
  ASSIGN_OR_RETURN(const TensorType type, op.OutputType("Out"));
  ASSIGN_OR_RETURN(const kernels::ProductShape shape,
                   FullyConnectedShape(op, "Input", op.attributes().Int("in_num_col_dims"), "W"));
  const EpilogueInput output = MatrixOf(type);
  ASSIGN_OR_RETURN(const bool is_planned, PlanProductOnIntegers(op, output, shape));
  if (is_planned) return absl::OkStatus();
  ASSIGN_OR_RETURN(const OwnStages own, ReadOwnStages(op, output, /*adds_bias=*/true));
  ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(const Buffer w, ReadWeightFloats(op, "W"));
  return AddForwardProduct(op, shape, input, w, output, own, FindOpsAfter(op, output, own));
}

// Alpha * X * Y of an addmm.
absl::StatusOr<PlannedProduct> AddmmProduct(const OpPlanner& op) {
  const Dims& x = op.InputDims("X");
  const Dims& y = op.InputDims("Y");
  if (x.size() != 2 || y.size() != 2 || x[1] != y[0]) return DoNotFit(op);
  PlannedProduct product;
  product.shape.rows = x[0];
  product.shape.inner = x[1];
  product.shape.columns = y[1];
  product.alpha = op.Number("Alpha");
  return product;
}

// How Input of an addmm is repeated for the result [rows, columns].
absl::StatusOr<Repetition> AddendOf(const OpPlanner& op, const ProductShape& shape) {
  Repetition addend{op.InputDims("Input"), {shape.rows, shape.columns}};
  bool fits = addend.own.size() <= 2;
  if (fits) addend.own.insert(addend.own.begin(), 2 - addend.own.size(), 1);
  for (size_t i = 0; fits && i < 2; ++i) {
    fits = addend.own[i] == 1 || addend.own[i] == addend.repeated[i];
  }
  if (fits) return addend;
  return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(op.InputDims("Input")),
                                                 "; want what broadcasts to ",
                                                 DimsText(addend.repeated)));
}

absl::Status PlanAddmm(OpPlanner& op) {
  ASSIGN_OR_RETURN(const PlannedProduct product, AddmmProduct(op));
  ASSIGN_OR_RETURN(const Repetition addend, AddendOf(op, product.shape));
  ASSIGN_OR_RETURN(const Buffer input, op.ReadFloats("Input"));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(const Buffer y, op.ReadFloats("Y"));
  const Buffer terms = op.Scratch("product", VarType::FP32, product.shape.out_size());
  RETURN_IF_ERROR(AddProduct(op, product.shape, product.alpha, x, y, terms));
  const Buffer out = op.WriteAs("Out", {VarType::FP32, addend.repeated});
  const int64_t columns = product.shape.columns;
  // How far apart elements of Input are; 0: it is repeated.
  const int64_t of_row = addend.own[0] == 1 ? 0 : addend.own[1];
  const int64_t of_column = addend.own[1] == 1 ? 0 : 1;
  op.AddStep({{terms, input},
              {out},
              [=, beta = op.Number("Beta")](const StepContext& run) {
                const float* const from = run.Floats(terms).data();
                const float* const addends = run.Floats(input).data();
                float* const to = run.Floats(out).data();
                for (int64_t i = 0; i < out.size; ++i) {
                  to[i] = from[i] + beta * addends[i / columns * of_row + i % columns * of_column];
                }
                return absl::OkStatus();
              },
              "",
              0,
              "addmm of Input"});
  return absl::OkStatus();
}

absl::Status PlanAddmmGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const PlannedProduct product, AddmmProduct(op));
  RETURN_IF_ERROR(PlanProductGradient(op, product));
  if (!op.Wants("Input@GRAD")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Repetition addend, AddendOf(op, product.shape));
  std::shared_ptr<kernels::Reduction> reduction;
  if (addend.own != addend.repeated) {
    ASSIGN_OR_RETURN(reduction, SumOver(addend));
  }
  ASSIGN_OR_RETURN(const Buffer dout, op.ReadFloats("Out@GRAD"));
  const Buffer dinput = op.WriteAs("Input@GRAD", op.InputType("Input"));
  op.AddStep({{dout},
              {dinput},
              [=, beta = op.Number("Beta")](const StepContext& run) {
                absl::Span<const float> sums = run.Floats(dout);
                if (reduction != nullptr) {
                  reduction->Run(sums, run.Floats(dinput));
                  sums = run.Floats(dinput);
                }
                kernels::Scale(sums, beta, 0.0f, kernels::BiasOrder::kAfterFactor,
                               run.Floats(dinput));
                return absl::OkStatus();
              },
              "",
              0,
              "sum of Input@GRAD"});
  return absl::OkStatus();
}

}  // namespace

int64_t OperationsOf(const ProductShape& shape) { return 2 * shape.out_size() * shape.inner; }

absl::StatusOr<Buffer> Repeated(OpPlanner& op, absl::string_view slot, Buffer read,
                                const std::optional<Repetition>& repetition) {
  if (!repetition) return read;
  kernels::StridedLayout from = kernels::RowMajorLayout(repetition->own);
  for (size_t i = 0; i < from.strides.size(); ++i) {
    if (repetition->own[i] != repetition->repeated[i]) from.strides[i] = 0;
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::StridedCopy> copy,
                   kernels::StridedCopy::Plan(repetition->repeated, from,
                                              kernels::RowMajorLayout(repetition->repeated)));
  const Buffer repeated = op.Scratch(slot, VarType::FP32, Volume(repetition->repeated));
  op.AddStep({{read},
              {repeated},
              [=](const StepContext& run) {
                copy->Run<float>(run.Floats(read), run.Floats(repeated));
                return absl::OkStatus();
              },
              "",
              0,
              absl::StrCat("repeat ", slot)});
  return repeated;
}

absl::StatusOr<PlannedProduct> MulProduct(const OpPlanner& op) {
  const DimsView x = op.InputDims("X");
  const DimsView y = op.InputDims("Y");
  const int64_t x_rows = op.attributes().Int("x_num_col_dims");
  const int64_t y_rows = op.attributes().Int("y_num_col_dims");
  const auto splits = [](DimsView dims, int64_t at) {
    return at >= 1 && at < static_cast<int64_t>(dims.size());
  };
  if (!splits(x, x_rows) || !splits(y, y_rows)) return DoNotFit(op);
  PlannedProduct product;
  ProductShape& shape = product.shape;
  shape.rows = Volume(x.subspan(0, x_rows));
  shape.inner = Volume(x.subspan(x_rows));
  shape.columns = Volume(y.subspan(y_rows));
  if (Volume(y.subspan(0, y_rows)) != shape.inner) return DoNotFit(op);
  return product;
}

absl::StatusOr<ProductShape> FullyConnectedShape(const OpPlanner& op, absl::string_view input_slot,
                                                 int64_t leading, absl::string_view weight_slot) {
  const Dims& input = op.InputDims(input_slot);
  const Dims& weights = op.InputDims(weight_slot);
  ProductShape shape;
  for (int64_t i = 0; i < static_cast<int64_t>(input.size()); ++i) {
    (i < leading ? shape.rows : shape.inner) *= input[i];
  }
  if (weights.size() != 2 || weights[0] != shape.inner) {
    return absl::InvalidArgumentError(absl::StrCat(input_slot, " is ", DimsText(input), " and ",
                                                   weight_slot, " ", DimsText(weights), "; want ",
                                                   weight_slot, " [", shape.inner, ", outputs]"));
  }
  shape.columns = weights[1];
  return shape;
}

// A vector is the same, transposed or not.
absl::StatusOr<PlannedProduct> MatmulV2Product(const OpPlanner& op) {
  return BatchedProduct(op, op.attributes().Bool("trans_x") && op.InputDims("X").size() > 1,
                        op.attributes().Bool("trans_y") && op.InputDims("Y").size() > 1, 1);
}

absl::Status AddProduct(OpPlanner& op, const ProductShape& shape, float alpha, Buffer x, Buffer y,
                        Buffer out, std::string name) {
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::Product> product, kernels::Product::Plan(shape));
  const Buffer packed = AddPacking<float>(op, product, y);
  op.AddStep({{x, packed},
              {out},
              [=](const StepContext& run) {
                product->Run(run.Floats(x), run.Of<uint8_t>(packed), {}, run.Floats(out));
                if (alpha != 1) {
                  kernels::Scale(run.Floats(out), alpha, 0.0f, kernels::BiasOrder::kAfterFactor,
                                 run.Floats(out));
                }
                return absl::OkStatus();
              },
              product->implementation(),
              OperationsOf(shape),
              std::move(name)});
  return absl::OkStatus();
}

absl::Status AddForwardProduct(OpPlanner& op, const ProductShape& shape, Buffer x, Buffer y,
                               const EpilogueInput& output, const OwnStages& own,
                               const OpsAfter& after) {
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::Product> product,
                   kernels::Product::Plan(shape, own.Before(after.epilogue())));
  ASSIGN_OR_RETURN(const PlannedEpilogue epilogue, AbsorbOpsAfter(op, output, own, after));
  const Buffer packed = AddPacking<float>(op, product, y);
  op.AddStep({epilogue.WithOperands({x, packed}),
              {epilogue.out},
              [=](const StepContext& run) {
                product->Run(run.Floats(x), run.Of<uint8_t>(packed), epilogue.OperandsOf(run),
                             run.Floats(epilogue.out));
                return absl::OkStatus();
              },
              product->implementation(),
              OperationsOf(shape),
              absl::StrCat(op.type(), epilogue.names)});
  return absl::OkStatus();
}

OpPlans ProductPlans() {
  OpPlans plans = {{"fc", PlanFc}, {"addmm", PlanAddmm}, {"addmm_grad", PlanAddmmGradient}};
  const std::pair<const char*, ProductFunction> products[] = {{"mul", MulProduct},
                                                              {"matmul", MatmulProduct},
                                                              {"matmul_v2", MatmulV2Product},
                                                              {"bmm", BmmProduct}};
  for (const auto& [type, product_of] : products) {
    plans.push_back(
        {type, [product_of = product_of](OpPlanner& op) { return PlanProduct(op, product_of); }});
    plans.push_back({absl::StrCat(type, "_grad"), [product_of = product_of](OpPlanner& op) {
                       ASSIGN_OR_RETURN(const PlannedProduct product, product_of(op));
                       return PlanProductGradient(op, product);
                     }});
  }
  return plans;
}

}  // namespace fixpoint::executor
