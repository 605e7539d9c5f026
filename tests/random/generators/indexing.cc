// Ops that pick elements by index, and that sort.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

VarType::Type SomeIndexType(CaseMaker& c) { return c.OneOf({VarType::INT32, VarType::INT64}); }

// lookup_table and lookup_table_v2.
Generator Lookup(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims table = {c.Between(1, 12), c.Between(1, 40)};
    Dims ids = c.SomeDims(1, 2, 10);
    if (type == "lookup_table") ids.push_back(1);
    const std::string w = c.Numbers(table);
    c.Op(type, "(W=", w, ", Ids=", c.Integers(VarType::INT64, ids, 0, table[0] - 1),
         ") -> (Out=out) {padding_idx=", c.OneIn(2) ? -1 : c.Between(0, 3), "L}");
    c.Sums(SizeOf(ids));
  };
}

// A row's range, and codes of any bits: floats of four codes may be NaN.
void LookupPackedRows(CaseMaker& c) {
  const int rows = c.Between(1, 12);
  const int words = c.Between(1, 10);
  std::vector<float> table;
  for (int i = 0; i < rows; ++i) {
    table.push_back(static_cast<float>(c.Between(-100, 0)) / 7);
    table.push_back(static_cast<float>(c.Between(0, 100)) / 7);
    for (int j = 0; j < words; ++j) {
      uint32_t codes = 0;
      for (int k = 0; k < 4; ++k) codes = codes << 8 | static_cast<uint32_t>(c.Between(0, 255));
      float word;
      std::memcpy(&word, &codes, sizeof(word));
      table.push_back(word);
    }
  }
  Dims ids = c.SomeDims(1, 2, 10);
  ids.push_back(1);
  const std::string w = c.Floats({rows, 2 + words}, table);
  c.Op("lookup_table_dequant(W=", w, ", Ids=", c.Integers(VarType::INT64, ids, 0, rows - 1),
       ") -> (Out=out) {padding_idx=", c.OneIn(2) ? -1 : c.Between(0, 3), "L}");
  c.Exact();
}

// Bytes below 60 make no FP16 or FP32 that is NaN or infinite.
void LookupRowsOfBytes(CaseMaker& c) {
  constexpr const char* kFormats[] = {"fused8", "glow_fused8", "fused8_fp16", "fused4_fp16",
                                      "fused2_fp16"};
  const int rows = c.Between(1, 12);
  Dims ids = c.SomeDims(1, 2, 10);
  ids.push_back(1);
  const std::string w = c.Integers(VarType::UINT8, {rows, c.Between(9, 40)}, 0, 59);
  c.Op("lookup_table_dequant(W=", w, ", Ids=", c.Integers(VarType::INT64, ids, 0, rows - 1),
       ") -> (Out=out) {padding_idx=", c.OneIn(2) ? -1 : c.Between(0, 3), "L, row_format=\"",
       kFormats[c.Between(0, 4)], "\"}");
  c.Exact();
}

void Gather(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int axis = c.is_2x() && c.OneIn(2) ? c.Between(0, static_cast<int>(dims.size()) - 1) : 0;
  const std::string x = c.Numbers(dims);
  c.Op("gather(X=", x,
       ", Index=", c.Integers(SomeIndexType(c), {c.Between(1, 9)}, 0, dims[axis] - 1),
       ") -> (Out=out)", axis > 0 ? absl::StrCat(" {axis=", axis, "}") : "");
  c.Sums(9);
}

Generator OneHot(const std::string& type) {
  return [type](CaseMaker& c) {
    Dims dims = c.SomeDims(1, 3);
    if (type == "one_hot") dims.push_back(1);
    const int depth = c.Between(1, 9);
    const bool may_be_outside = c.OneIn(3);
    c.Op(type, "(X=",
         c.Integers(SomeIndexType(c), dims, may_be_outside ? -2 : 0,
                    may_be_outside ? depth + 2 : depth - 1),
         ") -> (Out=out) {depth=", depth, ", allow_out_of_range=", BoolText(may_be_outside), "}");
    c.Exact();
  };
}

void TopK(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  c.Op("top_k(X=", c.Numbers(dims),
       ") -> (Out=out, Indices=indices) {k=", c.Between(1, static_cast<int>(dims.back())), "}");
  c.Exact();
}

void TopKV2(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  const int axis = c.SomeAxis(dims.size());
  const auto length = static_cast<int>(dims[axis < 0 ? axis + dims.size() : axis]);
  c.Op("top_k_v2(X=", c.Numbers(dims), ") -> (Out=out, Indices=indices) {k=", c.Between(1, length),
       ", axis=", axis, ", largest=", BoolText(c.OneIn(2)), "}");
  c.Exact();
}

void Argsort(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 4);
  c.Op("argsort(X=", c.Numbers(dims),
       ") -> (Out=out, Indices=indices) {axis=", c.SomeAxis(dims.size()),
       ", descending=", BoolText(c.OneIn(2)), "}");
  c.Exact();
}

// arg_max or arg_min.
Generator ArgMost(const std::string& type) {
  return [type](CaseMaker& c) {
    const Dims dims = c.SomeDims(1, 4);
    const bool flattens = c.is_2x() && c.OneIn(4);
    c.Op(type, "(X=", c.Numbers(dims),
         ") -> (Out=out) {axis=", flattens ? 0 : c.SomeAxis(dims.size()),
         "L, keepdims=", BoolText(c.OneIn(2)), flattens ? ", flatten=true" : "",
         c.OneIn(3) ? ", dtype=2" : "", "}");  // i32
    c.Exact();
  };
}

void IsEmpty(CaseMaker& c) {
  c.Op("is_empty(X=", c.Numbers(c.SomeDims(1, 4)), ") -> (Out=out)");
  c.Exact();
}

void Accuracy(CaseMaker& c) {
  const Dims dims = {c.Between(1, 20), c.Between(1, 5)};
  const std::string out = c.Numbers(dims);
  const std::string indices = c.Integers(VarType::INT64, dims, 0, 4);
  c.Op("accuracy(Out=", out, ", Indices=", indices,
       ", Label=", c.Integers(VarType::INT64, {dims[0], 1}, 0, 4),
       ") -> (Accuracy=out, Correct=correct, Total=total)");
  c.Exact();
}

}  // namespace

Generators IndexingGenerators() {
  return {{"lookup_table", Lookup("lookup_table")},
          {"lookup_table_dequant",
           [](CaseMaker& c) { c.OneIn(2) ? LookupPackedRows(c) : LookupRowsOfBytes(c); }},
          {"lookup_table_v2", Lookup("lookup_table_v2")},
          {"gather", Gather},
          {"one_hot", OneHot("one_hot")},
          {"one_hot_v2", OneHot("one_hot_v2")},
          {"top_k", TopK},
          {"top_k_v2", TopKV2},
          {"argsort", Argsort},
          {"arg_max", ArgMost("arg_max")},
          {"arg_min", ArgMost("arg_min")},
          {"is_empty", IsEmpty},
          {"accuracy", Accuracy}};
}

}  // namespace fixpoint::random_cases
