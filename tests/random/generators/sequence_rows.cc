// Ops that move the rows of sequences.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

std::string SomeSequences(CaseMaker& c, const Dims& dims) {
  const std::string x = c.Numbers(dims);
  c.CutIntoSequences(x);
  return x;
}

int64_t SequencesOf(const CaseMaker& c, const std::string& x) {
  return static_cast<int64_t>(c.Input(x).lod().back().size()) - 1;
}

Dims SomeRows(CaseMaker& c) {
  Dims dims = c.SomeDims(1, 2, 10);
  dims.insert(dims.begin(), c.Between(1, 20));
  return dims;
}

void Reverse(CaseMaker& c) {
  c.Op("sequence_reverse(X=", SomeSequences(c, SomeRows(c)), ") -> (Y=out)");
  c.Exact();
}

void ExpandAs(CaseMaker& c) {
  const std::string y = SomeSequences(c, {c.Between(1, 20), 2});
  Dims dims = SomeRows(c);
  dims[0] = SequencesOf(c, y);
  c.Op("sequence_expand_as(X=", c.Numbers(dims), ", Y=", y, ") -> (Out=out)");
  c.Sums(20);
}

void Expand(CaseMaker& c) {
  const std::string y = SomeSequences(c, {c.Between(1, 20), 2});
  Dims dims = SomeRows(c);
  dims[0] = SequencesOf(c, y);
  c.Op("sequence_expand(X=", c.Numbers(dims), ", Y=", y, ") -> (Out=out) {ref_level=-1}");
  c.Sums(20);
}

void Pad(CaseMaker& c) {
  const Dims dims = SomeRows(c);
  const std::string x = SomeSequences(c, dims);
  Dims row(dims.begin() + 1, dims.end());
  const std::string padding = c.OneIn(2) ? c.Numbers({1}) : c.Numbers(row);
  const int64_t length = c.OneIn(2) ? -1 : dims[0] + c.Between(0, 3);
  c.Op("sequence_pad(X=", x, ", PadValue=", padding,
       ") -> (Out=out, Length=length) {padded_length=", length, "}");
  c.Exact();
}

void Mask(CaseMaker& c) {
  const VarType::Type dtype = c.OneIn(2) ? VarType::INT32 : VarType::INT64;
  c.Op("sequence_mask(X=", c.Integers(dtype, c.SomeDims(1, 2), 0, 9),
       ") -> (Y=out) {maxlen=", c.Between(1, 10), ", out_dtype=", c.OneOf({2, 3, 5}), "}");
  c.Exact();
}

void Reshape(CaseMaker& c) {
  const int64_t width = c.OneOf({1, 2, 3, 6});
  const std::string x = SomeSequences(c, {c.Between(1, 20), 6});
  c.Op("sequence_reshape(X=", x, ") -> (Out=out) {new_dim=", width, "}");
  c.Exact();
}

void Reset(CaseMaker& c) {
  Dims dims = SomeRows(c);
  const std::string x = c.OneIn(2) ? c.Numbers(dims) : SomeSequences(c, dims);
  if (c.OneIn(2)) {
    const int64_t middle = c.Between(0, static_cast<int>(dims[0]));
    c.Op("lod_reset(X=", x, ") -> (Out=out) {target_lod=[0, ", middle, ", ", dims[0],
         "], append=false}");
  } else {
    c.Op("lod_reset(X=", x, ", Y=", SomeSequences(c, {dims[0], 2}), ") -> (Out=out)");
  }
  c.Exact();
}

void RowConvolution(CaseMaker& c) {
  const int64_t width = c.Between(1, 20);
  const int64_t context = c.Between(1, 5);
  const int64_t rows = c.Between(1, 20);
  const std::string x = SomeSequences(c, {rows, width});
  c.Op("row_conv(X=", x, ", Filter=", c.Numbers({context, width}), ") -> (Out=out)");
  c.Sums(std::max(rows, context));
}

void Windows(CaseMaker& c) {
  const int kernel = c.Between(1, 3);
  const std::string x =
      c.Numbers({c.Between(1, 3), c.Between(1, 3), c.Between(3, 8), c.Between(3, 8)});
  c.Op("im2sequence(X=", x, ") -> (Out=out) {kernels=[", kernel, ", ", c.Between(1, 3),
       "], strides=[", c.Between(1, 3), ", ", c.Between(1, 3), "], paddings=[", c.Between(0, 2),
       ", ", c.Between(0, 2), ", ", c.Between(0, 2), ", ", c.Between(0, 2), "]}");
  c.Sums(9);
}

// Sequences of two inputs: those of the second have a row for each of the first's.
void Concat(CaseMaker& c) {
  const Dims dims = SomeRows(c);
  const std::string x = SomeSequences(c, dims);
  c.Op("sequence_concat(X=[", x, ", ", x, "]) -> (Out=out)");
  c.Exact();
}

// How many rows there are is known before the run.
void Slice(CaseMaker& c) {
  const std::string x = SomeSequences(c, SomeRows(c));
  const int64_t sequences = SequencesOf(c, x);
  c.Op("fill_constant() -> (Out=zero) {shape=[", sequences, ", 1], dtype=3, value=0.0}");
  c.Op("sequence_slice(X=", x, ", Offset=zero, Length=zero) -> (Out=out)");
  c.Exact();
}

void Unpad(CaseMaker& c) {
  const int sequences = c.Between(1, 5);
  const int length = c.Between(2, 6);
  c.Op("fill_constant() -> (Out=count) {shape=[", sequences,
       "], dtype=3, value=", c.Between(1, length), ".0}");
  c.Op("sequence_unpad(X=", c.Numbers({sequences, length, c.Between(1, 10)}),
       ", Length=count) -> (Out=out)");
  c.Exact();
}

void Erase(CaseMaker& c) {
  const std::string x =
      c.Integers(c.OneOf({VarType::INT64, VarType::INT32}), {c.Between(1, 20), 1}, 0, 4);
  c.CutIntoSequences(x);
  std::vector<int> tokens;
  for (int i = c.Between(0, 3); i > 0; --i) tokens.push_back(c.Between(0, 5));
  c.Op("sequence_erase(X=", x, ") -> (Out=out) {tokens=", tokens.empty() ? "ints" : "",
       ListText(tokens), "}");
  c.Exact();
}

}  // namespace

Generators SequenceRowGenerators() {
  return {{"sequence_reverse", Reverse}, {"sequence_concat", Concat},
          {"sequence_expand", Expand},   {"sequence_expand_as", ExpandAs},
          {"sequence_slice", Slice},     {"sequence_pad", Pad},
          {"sequence_unpad", Unpad},     {"sequence_mask", Mask},
          {"sequence_reshape", Reshape}, {"lod_reset", Reset},
          {"row_conv", RowConvolution},  {"im2sequence", Windows},
          {"sequence_erase", Erase}};
}

}  // namespace fixpoint::random_cases
