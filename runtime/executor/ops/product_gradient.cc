#include "runtime/executor/ops/product_gradient.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/op_schema.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/bfloat16_operands.h"
#include "runtime/executor/ops/gradient_codes.h"
#include "runtime/executor/ops/packed_weights.h"
#include "runtime/kernels/arithmetic.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/bfloat16_product.h"

namespace fixpoint::executor {
namespace {

using kernels::ProductShape;

// A product that gives the gradient of an operand: of Out@GRAD and the other operand, which may be
// numbers that a factor is missing from.
struct GradientTerm {
  ProductShape shape;
  Buffer x;
  Buffer y;
  Multiples other;
};

// Which product that is.
struct TermForm {
  ProductShape shape;
  bool gradient_is_left;

  GradientTerm Term(Buffer dout, const Multiples& other) const {
    return gradient_is_left ? GradientTerm{shape, dout, other.numbers, other}
                            : GradientTerm{shape, other.numbers, dout, other};
  }
};

TermForm FormOfY(const ProductShape& s) {
  if (s.transpose_y) return {{s.batch, s.columns, s.rows, s.inner, true, s.transpose_x}, true};
  return {{s.batch, s.inner, s.rows, s.columns, !s.transpose_x, false}, false};
}

TermForm FormOfX(const ProductShape& s) {
  if (s.transpose_x) return {{s.batch, s.inner, s.columns, s.rows, s.transpose_y, true}, false};
  return {{s.batch, s.rows, s.columns, s.inner, false, !s.transpose_y}, true};
}

// Whether the steps that compute a gradient on integers were added. Operands that are repeated are
// multiplied as floats.
absl::StatusOr<bool> PlanOnIntegers(OpPlanner& op, absl::string_view output,
                                    absl::string_view other, const TermForm& form,
                                    const PlannedProduct& product) {
  if (product.x || product.y) return false;
  const absl::string_view gradient = "Out@GRAD";
  return PlanCodedGradient(
      op, output,
      form.gradient_is_left ? GradientFactors{gradient, other} : GradientFactors{other, gradient},
      form.shape, product.alpha);
}

// An operand as the gradient of the other multiplies it.
absl::StatusOr<Multiples> ReadForGradient(OpPlanner& op, absl::string_view slot,
                                          const std::optional<Repetition>& repetition) {
  const bool rounds = op.backward() == BackwardPrecision::kBfloat16;
  if (rounds && !repetition) return ReadInBfloat16(op, slot, Layout::kRowMajor);
  ASSIGN_OR_RETURN(Buffer floats, op.ReadFloats(slot));
  ASSIGN_OR_RETURN(floats, Repeated(op, slot, floats, repetition));
  return Multiples{rounds ? AddRounding(op, slot, floats) : floats, std::nullopt};
}

// Adds the step that computes out = alpha * the term.
absl::Status AddTerm(OpPlanner& op, const GradientTerm& term, float alpha, Buffer out,
                     const std::string& name) {
  if (op.backward() == BackwardPrecision::kFloat) {
    return AddProduct(op, term.shape, alpha, term.x, term.y, out, name);
  }
  using kernels::Bfloat16;
  ASSIGN_OR_RETURN(std::shared_ptr<kernels::Bfloat16Product> product,
                   kernels::Bfloat16Product::Plan(term.shape));
  const Buffer packed = AddPacking<Bfloat16>(op, product, term.y);
  std::vector<Buffer> reads = term.other.StepBuffers();
  reads.insert(reads.end(), {term.x, packed});
  op.AddStep({std::move(reads),
              {out},
              [=](const StepContext& run) {
                product->Run(run.Of<Bfloat16>(term.x), run.Of<uint8_t>(packed), run.Floats(out));
                const float factor = alpha * term.other.StepIn(run);
                if (factor != 1) {
                  kernels::Scale(run.Floats(out), factor, 0.0f, kernels::BiasOrder::kAfterFactor,
                                 run.Floats(out));
                }
                return absl::OkStatus();
              },
              product->implementation(),
              OperationsOf(term.shape),
              name});
  return absl::OkStatus();
}

// Adds the steps that compute the gradient of an operand: a product, summed over the matrices that
// the operand was repeated for.
absl::Status AddGradient(OpPlanner& op, absl::string_view slot, const GradientTerm& term,
                         float alpha, const std::optional<Repetition>& repetition) {
  const std::string gradient = absl::StrCat(slot, kGradientSuffix);
  const std::string name = absl::StrCat(op.type(), " of ", slot);
  const TensorType type = op.InputType(slot);
  if (!repetition) {
    return AddTerm(op, term, alpha, op.WriteAs(gradient, type), name);
  }
  const Buffer terms = op.Scratch(gradient, VarType::FP32, term.shape.out_size());
  RETURN_IF_ERROR(AddTerm(op, term, alpha, terms, name));
  ASSIGN_OR_RETURN(const std::shared_ptr<kernels::Reduction> reduction, SumOver(*repetition));
  const Buffer out = op.WriteAs(gradient, type);
  op.AddStep({{terms},
              {out},
              [=](const StepContext& run) {
                reduction->Run(run.Floats(terms), run.Floats(out));
                return absl::OkStatus();
              },
              reduction->implementation(),
              0,
              absl::StrCat("sum of ", gradient)});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<kernels::Reduction>> SumOver(const Repetition& repetition) {
  kernels::ReductionShape sum{kernels::ReductionType::kSum, repetition.repeated, {}};
  for (size_t i = 0; i < sum.dims.size(); ++i) {
    if (repetition.own[i] != sum.dims[i]) sum.axes.push_back(static_cast<int64_t>(i));
  }
  return kernels::Reduction::Plan(sum);
}

absl::Status PlanProductGradient(OpPlanner& op, const PlannedProduct& product) {
  const ProductShape& s = product.shape;
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", s.out_size()));
  const TermForm of_y = FormOfY(s);
  const TermForm of_x = FormOfX(s);
  ASSIGN_OR_RETURN(const bool y_is_planned, PlanOnIntegers(op, "Y@GRAD", "X", of_y, product));
  ASSIGN_OR_RETURN(const bool x_is_planned, PlanOnIntegers(op, "X@GRAD", "Y", of_x, product));
  const bool plans_y = op.Wants("Y@GRAD") && !y_is_planned;
  const bool plans_x = op.Wants("X@GRAD") && !x_is_planned;
  if (!plans_y && !plans_x) return absl::OkStatus();
  ASSIGN_OR_RETURN(Buffer dout, op.ReadFloats("Out@GRAD"));
  if (op.backward() == BackwardPrecision::kBfloat16) dout = AddRounding(op, "Out@GRAD", dout);
  if (plans_y) {
    ASSIGN_OR_RETURN(const Multiples x, ReadForGradient(op, "X", product.x));
    RETURN_IF_ERROR(AddGradient(op, "Y", of_y.Term(dout, x), product.alpha, product.y));
  }
  if (plans_x) {
    ASSIGN_OR_RETURN(const Multiples y, ReadForGradient(op, "Y", product.y));
    RETURN_IF_ERROR(AddGradient(op, "X", of_x.Term(dout, y), product.alpha, product.x));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
