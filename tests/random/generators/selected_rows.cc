// Gradients of sparse embeddings, and what is made of them.

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

struct SomeRows {
  std::string table;
  Dims dims;
};

// The gradient `name` of a lookup of some rows.
SomeRows AddGradient(CaseMaker& c, const std::string& name) {
  const Dims dims = {c.Between(1, 8), c.Between(1, 9)};
  const Dims ids = {c.Between(1, 12)};
  const std::string table = c.Numbers(dims);
  c.Op("lookup_table_v2_grad(W=", table, ", Ids=", c.Integers(VarType::INT64, ids, 0, dims[0] - 1),
       ", Out@GRAD=", c.Numbers({ids[0], dims[1]}), ") -> (W@GRAD=", name, ") {is_sparse=true}");
  c.Sums(ids[0]);
  return {table, dims};
}

// Up to three ops that rows pass through; the name of the last.
std::string SomeOps(CaseMaker& c, std::string rows) {
  for (int i = c.Between(0, 3); i > 0; --i) {
    const std::string next = rows + "x";
    switch (c.Between(0, 4)) {
      case 0:
        c.Op("scale(X=", rows, ") -> (Out=", next, ") {scale=", FloatText(c.Between(-2.0f, 2.0f)),
             "}");
        break;
      case 1:
        c.Op("sum(X=[", rows, ", ", rows, "]) -> (Out=", next, ")");
        break;
      case 2:
        c.Op("clip(X=", rows, ") -> (Out=", next, ") {min=-0.75, max=0.5}");
        break;
      case 3:
        c.Op("elementwise_mul(X=", rows, ", Y=", c.Numbers({1}), ") -> (Out=", next, ")");
        break;
      default:
        c.Op("merge_selected_rows(X=", rows, ") -> (Out=", next, ")");
    }
    rows = next;
  }
  return rows;
}

void Merge(CaseMaker& c) {
  AddGradient(c, "g");
  c.Op("merge_selected_rows(X=", SomeOps(c, "g"), ") -> (Out=out)");
}

void GetTensor(CaseMaker& c) {
  AddGradient(c, "g");
  c.Op("get_tensor_from_selected_rows(X=", SomeOps(c, "g"), ") -> (Out=out)");
}

std::string SomeRate(CaseMaker& c) { return c.Numbers({1}, 0.001f, 0.5f); }

void Sgd(CaseMaker& c) {
  const std::string w = AddGradient(c, "g").table;
  c.Op("sgd(Param=", w, ", Grad=", SomeOps(c, "g"), ", LearningRate=", SomeRate(c),
       ") -> (ParamOut=", w, ")");
}

void Adagrad(CaseMaker& c) {
  const SomeRows rows = AddGradient(c, "g");
  const std::string m = c.Numbers(rows.dims, 1, 2);
  c.Op("adagrad(Param=", rows.table, ", Grad=", SomeOps(c, "g"), ", LearningRate=", SomeRate(c),
       ", Moment=", m, ") -> (ParamOut=", rows.table, ", MomentOut=", m, ")");
}

void Adam(CaseMaker& c) {
  const SomeRows rows = AddGradient(c, "g");
  const std::string m1 = c.Numbers(rows.dims);
  const std::string m2 = c.Numbers(rows.dims, 1, 2);
  const std::string b1 = c.Numbers({1}, 0.1f, 0.9f);
  const std::string b2 = c.Numbers({1}, 0.1f, 0.9f);
  c.Op("adam(Param=", rows.table, ", Grad=", SomeOps(c, "g"), ", LearningRate=", SomeRate(c),
       ", Moment1=", m1, ", Moment2=", m2, ", Beta1Pow=", b1, ", Beta2Pow=", b2,
       ") -> (ParamOut=", rows.table, ", Moment1Out=", m1, ", Moment2Out=", m2,
       ", Beta1PowOut=", b1, ", Beta2PowOut=", b2, ") {lazy_mode=", BoolText(c.OneIn(2)), "}");
}

}  // namespace

Generators SelectedRowsGenerators() {
  return {{"merge_selected_rows", Merge},
          {"get_tensor_from_selected_rows", GetTensor},
          {"sgd of rows", Sgd},
          {"adagrad of rows", Adagrad},
          {"adam of rows", Adam}};
}

}  // namespace fixpoint::random_cases
