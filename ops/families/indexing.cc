// Ops that find elements, and tables of rows: embeddings, top-k, one-hot.

#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "ops/infer.h"
#include "ops/infer_rules.h"
#include "ops/op_schema_builder.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// Rows of W [V, D]. Version 1 has Ids [..., 1], version 2 Ids [...].
OpSchema::InferFunction InferLookup(bool drops_last_dim) {
  return [drops_last_dim](InferContext& op) -> absl::Status {
    const TensorInfo w = op.Input("W");
    const TensorInfo ids = op.Input("Ids");
    op.SetOutput("Out", w.dtype, std::nullopt);
    if (!w.has_dims() || !ids.has_dims()) return absl::OkStatus();
    if (w.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("W is ", DimsText(w.dims), "; want 2 dimensions"));
    }
    Dims out(ids.dims.begin(), ids.dims.end());
    if (drops_last_dim) {
      if (!MayBeEqual(out.back(), 1)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Ids is ", DimsText(ids.dims), "; want a last dimension of 1"));
      }
      out.pop_back();
    }
    out.push_back(w.dims[1]);
    op.SetOutput("Out", w.dtype, out);
    return absl::OkStatus();
  };
}

std::optional<int> RowsOfTable(const Op&, absl::string_view slot) {
  return slot == "W" ? std::optional(0) : std::nullopt;
}

// A table of codes, with scales and offsets for all rows or for each.
OpSchema::InferFunction InferIntegerLookup(bool drops_last_dim) {
  return [lookup = InferLookup(drops_last_dim)](InferContext& op) -> absl::Status {
    RETURN_IF_ERROR(lookup(op));
    const TensorInfo w = op.Input("W");
    for (const char* slot : {"Scales", "Offsets"}) {
      if (!op.HasInput(slot) || !w.has_dims()) continue;
      const TensorInfo rows = op.Input(slot);
      const bool fits =
          !rows.has_dims() ||
          (rows.rank() == 1 && (rows.dims[0] == 1 || MayBeEqual(rows.dims[0], w.dims[0])));
      if (fits) continue;
      return absl::InvalidArgumentError(absl::StrCat(slot, " is ", DimsText(rows.dims), " and W ",
                                                     DimsText(w.dims), " has ", w.dims[0],
                                                     " rows; want one for all or for each"));
    }
    const int64_t code = op.Int("largest_code");
    if (const int32_t largest = CodesOfByte(/*is_unsigned=*/false).largest;
        code < 1 || code > largest) {
      return absl::InvalidArgumentError(
          absl::StrCat("largest_code is ", code, "; want 1 to ", largest));
    }
    if (op.OutputCount("Out") > 0) {
      op.SetOutput("Out", VarType::FP32, op.outputs().front().dims);
    }
    return absl::OkStatus();
  };
}

absl::Status InferTopK(InferContext& op, int64_t axis) {
  const TensorInfo x = op.Input("X");
  op.SetOutput("Out", x.dtype, std::nullopt);
  op.SetOutput("Indices", VarType::INT64, std::nullopt);
  if (!x.has_dims()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int i, NormalizeAxis(axis, x.rank()));
  const int64_t k = op.HasInput("K") ? kUnknownDim : op.Int("k");
  if (!op.HasInput("K") && (k < 1 || (x.dims[i] >= 0 && k > x.dims[i]))) {
    return absl::InvalidArgumentError(absl::StrCat("k is ", k, " and X is ", DimsText(x.dims),
                                                   "; want 1 to the size of axis ", i));
  }
  Dims out(x.dims.begin(), x.dims.end());
  out[i] = k;
  op.SetOutput("Out", x.dtype, out);
  op.SetOutput("Indices", VarType::INT64, out);
  return absl::OkStatus();
}

absl::Status InferArgMax(InferContext& op) {
  const TensorInfo x = op.Input("X");
  DataType dtype = VarType::INT64;
  if (op.Int("dtype") >= 0) {
    ASSIGN_OR_RETURN(dtype, DataTypeAttr(op, "dtype"));
  }
  op.SetOutput("Out", dtype, std::nullopt);
  if (!x.has_dims() || op.Bool("flatten")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.Int("axis"), x.rank()));
  Dims out(x.dims.begin(), x.dims.end());
  if (op.Bool("keepdims")) {
    out[axis] = 1;
  } else {
    out.erase(out.begin() + axis);
  }
  if (!out.empty()) op.SetOutput("Out", dtype, out);
  return absl::OkStatus();
}

absl::Status InferArgSort(InferContext& op) {
  TensorInfo x = op.Input("X");
  op.SetOutputLike("Out", x);
  x.dtype = VarType::INT64;
  op.SetOutputLike("Indices", x);
  return absl::OkStatus();
}

OpSchema::InferFunction InferOneHot(bool replaces_last_dim) {
  return [replaces_last_dim](InferContext& op) -> absl::Status {
    ASSIGN_OR_RETURN(const DataType dtype, DataTypeAttr(op, "dtype"));
    const TensorInfo x = op.Input("X");
    op.SetOutput("Out", dtype, std::nullopt);
    if (!x.has_dims()) return absl::OkStatus();
    Dims out(x.dims.begin(), x.dims.end());
    if (replaces_last_dim) out.pop_back();
    int64_t depth = kUnknownDim;
    if (!op.HasInput("depth_tensor")) {
      ASSIGN_OR_RETURN(depth, PositiveAttr(op, "depth"));
    }
    out.push_back(depth);
    op.SetOutput("Out", dtype, out);
    return absl::OkStatus();
  };
}

absl::Status InferWhereIndex(InferContext& op) {
  const TensorInfo condition = op.Input("Condition");
  op.SetOutput("Out", VarType::INT64, std::nullopt);
  if (condition.has_dims()) {
    op.SetOutput("Out", VarType::INT64, Dims{kUnknownDim, condition.rank()});
  }
  return absl::OkStatus();
}

absl::Status InferMaskedSelect(InferContext& op) {
  const TensorInfo x = op.Input("X");
  const TensorInfo mask = op.Input("Mask");
  op.SetOutput("Y", x.dtype, Dims{kUnknownDim});
  if (!x.has_dims() || !mask.has_dims()) return absl::OkStatus();
  if (MayBeEqual(x.dims, mask.dims)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Mask is ", DimsText(mask.dims), "; want ", DimsText(x.dims), ", as X"));
}

absl::Status InferUnique(InferContext& op) {
  const TensorInfo x = op.Input("X");
  ASSIGN_OR_RETURN(const DataType index, DataTypeAttr(op, "dtype"));
  const bool is_whole = op.era() == Era::kFluid || op.Ints("axis").empty();
  if (!is_whole) return absl::OkStatus();
  op.SetOutput("Out", x.dtype, Dims{kUnknownDim});
  int64_t size = kUnknownDim;
  if (x.has_dims()) {
    ASSIGN_OR_RETURN(size, ElementCount(x.dims));
  }
  op.SetOutput("Index", index, Dims{size});
  for (const char* slot : {"Indices", "Counts"}) op.SetOutput(slot, index, Dims{kUnknownDim});
  return absl::OkStatus();
}

// A sparse gradient has only the rows that were looked up.
absl::Status InferLookupGradient(InferContext& op) {
  op.SetOutputLike("W@GRAD", op.Input("W"));
  if (op.Bool("is_sparse")) op.SetOutputKind("W@GRAD", VarType::SELECTED_ROWS);
  return absl::OkStatus();
}

absl::Status InferDense(InferContext& op) {
  TensorInfo dense = op.Input("X");
  dense.kind = VarType::LOD_TENSOR;
  op.SetOutputLike("Out", dense);
  return absl::OkStatus();
}

void DefineEmbeddings(OpList& ops) {
  ops.Define("lookup_table(W, Ids) -> (Out)")
      .Doc("Rows of W [V,D] at Ids [...,1]; a row of zeros at padding_idx.")
      .Attr("is_sparse", Bool(false))
      .Attr("is_distributed", Bool(false))
      .Attr("padding_idx", Long(-1))
      .Attr("grad_inplace", Bool(false))
      .Attr("remote_prefetch", Bool(false))
      .Attr("trainer_id", Int(0))
      .Attr("slot", Int(0), Eras::kPaddle2)
      .Attr("height_sections", Longs({}))
      .Attr("epmap", Strings({}))
      .Attr("table_names", Strings({}))
      .Attr("entry_config", String(""), Eras::kPaddle2)
      .Attr("entry", String("none"), Eras::kPaddle2)
      .Attr("table_class", String("none"), Eras::kPaddle2)
      .Hints("is_test@2")
      .Infer(InferLookup(/*drops_last_dim=*/true))
      .QuantizableInput("W", SlotRole::WEIGHT)
      .WeightAxis(RowsOfTable)
      .LooksUpRows()
      .QuantizableOutputs({"Out"})
      .Gradient("lookup_table_grad(W, Ids, Out@GRAD) -> (W@GRAD)")
      .GradientInfer(InferLookupGradient);
  ops.Define("lookup_table_v2(W, Ids) -> (Out)")
      .Doc("Rows of W [V,D] at Ids [...]; a row of zeros at padding_idx.")
      .Attr("is_sparse", Bool(false))
      .Attr("is_distributed", Bool(false))
      .Attr("padding_idx", Long(-1))
      .Attr("remote_prefetch", Bool(false))
      .Attr("trainer_id", Int(0))
      .Attr("slot", Int(0), Eras::kPaddle2)
      .Attr("height_sections", Longs({}))
      .Attr("epmap", Strings({}))
      .Attr("table_names", Strings({}))
      .Infer(InferLookup(/*drops_last_dim=*/false))
      .QuantizableInput("W", SlotRole::WEIGHT)
      .WeightAxis(RowsOfTable)
      .LooksUpRows()
      .QuantizableOutputs({"Out"})
      .Gradient("lookup_table_v2_grad(W, Ids, Out@GRAD) -> (W@GRAD)")
      .GradientInfer(InferLookupGradient);
  const auto define_of_codes = [&ops](const char* type, bool drops_last_dim) {
    ops.Define(absl::StrCat("integer_", type, "(W, Ids, Scales, Offsets?) -> (Out)"))
        .Doc(absl::StrCat(
            type,
            " of codes W [V,D], INT8: (code - offset) * scale / largest_code, each operation as "
            "FP32, with the scale of the row in Scales and its offset, INT32, in Offsets, [V] or "
            "[1]; 0 where that is absent."))
        .IsOnIntegers()
        .LooksUpRows()
        .Attr("padding_idx", Long(-1))
        .Attr("largest_code", Required(INT))
        .Infer(InferIntegerLookup(drops_last_dim));
  };
  define_of_codes("lookup_table", /*drops_last_dim=*/true);
  define_of_codes("lookup_table_v2", /*drops_last_dim=*/false);
}

void DefineSearch(OpList& ops) {
  ops.Define("top_k(X, K?) -> (Out, Indices)")
      .Doc("The k largest of each row.")
      .Attr("k", Int(1))
      .Infer([](InferContext& op) { return InferTopK(op, -1); })
      .TakeLod({"Out", "Indices"})
      .Gradient("top_k_grad(X, Indices, Out@GRAD) -> (X@GRAD)");
  ops.Define("top_k_v2(X, K?) -> (Out, Indices)")
      .Doc("The k largest (or smallest) along axis.")
      .Attr("k", Int(1))
      .Attr("axis", Int(-1))
      .Attr("largest", Bool(true))
      .Attr("sorted", Bool(true))
      .Infer([](InferContext& op) { return InferTopK(op, op.Int("axis")); })
      .TakeLod({"Out", "Indices"})
      .QuantizableOutputs({"Out", "Indices"})
      .Gradient("top_k_v2_grad(X, K, Indices, Out@GRAD) -> (X@GRAD)");
  for (const bool is_max : {true, false}) {
    ops.Define(is_max ? "arg_max(X) -> (Out)" : "arg_min(X) -> (Out)")
        .Doc(absl::StrCat("Index of the ", is_max ? "largest" : "smallest", " along axis."))
        .Attr("axis", Required(LONG))
        .Attr("keepdims", Bool(false))
        .Attr("flatten", Bool(false), Eras::kPaddle2)
        .Attr("dtype", Int(-1), Eras::kFluid)
        .Attr("dtype", Int(3), Eras::kPaddle2)
        .Infer(InferArgMax)
        .TakeLod({})
        .QuantizableOutputs({"Out"});
  }
  ops.Define("argsort(X) -> (Out, Indices)")
      .Doc("X sorted along axis, and where each came from.")
      .Attr("axis", Int(-1))
      .Attr("descending", Bool(false))
      .Infer(InferArgSort)
      .GradientNotKnown();
}

}  // namespace

std::vector<OpSchema> IndexingOps() {
  OpList ops;
  DefineEmbeddings(ops);
  DefineSearch(ops);
  for (const bool v1 : {true, false}) {
    ops.Define(absl::StrCat(v1 ? "one_hot" : "one_hot_v2", "(X, depth_tensor?) -> (Out)"))
        .Doc(v1 ? "Rows of one 1 among zeros, of X [...,1]."
                : "Rows of one 1 among zeros, of X [...].")
        .Attr("depth", Int(-1))
        .Attr("dtype", Int(5))
        .Attr("allow_out_of_range", Bool(false))
        .Infer(InferOneHot(v1))
        .GradientNotKnown();
  }
  ops.Define("where_index(Condition) -> (Out)")
      .Doc("Indices of what is true, a row for each.")
      .TakeLod({})
      .Infer(InferWhereIndex)
      .GradientNotKnown();
  ops.Define("masked_select(X, Mask) -> (Y)")
      .Doc("The elements of X where Mask is true, one after the other.")
      .Infer(InferMaskedSelect)
      .TakeLod({})
      .KeepsRange()
      .Gradient("masked_select_grad(X#, Mask, Y@GRAD) -> (X@GRAD)");
  ops.Define("unique(X) -> (Out, Index, Indices?@2, Counts?@2)")
      .Doc(
          "The different elements of X, in ascending order if is_sorted, else as they come; Index: "
          "where each of X's is among them; Indices: where each is first in X; Counts: how often.")
      .Attr("dtype", Required(INT), Eras::kFluid)
      .Attr("dtype", Int(VarType::INT64), Eras::kPaddle2)
      .Attr("return_index", Bool(false), Eras::kPaddle2)
      .Attr("return_inverse", Bool(false), Eras::kPaddle2)
      .Attr("return_counts", Bool(false), Eras::kPaddle2)
      .Attr("axis", Ints({}), Eras::kPaddle2)
      .Attr("is_sorted", Bool(false), Eras::kPaddle2)
      .Infer(InferUnique)
      .TakeLod({});
  ops.Define("merge_selected_rows(X) -> (Out)")
      .Doc("Sparse rows, those of one index added up.")
      .Infer(SameAs("X", {"Out"}));
  ops.Define("get_tensor_from_selected_rows(X) -> (Out)")
      .Doc("The rows of a sparse tensor as a dense one.")
      .Infer(InferDense);
  return ops.Build();
}

}  // namespace fixpoint
