// Arrays of tensors, and sequences step by step.

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

std::string SomeSequences(CaseMaker& c, const Dims& dims) {
  const std::string x = c.Numbers(dims);
  c.CutIntoSequences(x);
  return x;
}

// Steps of sequences and the sequences again, with what there is to know of them.
void Sequences(CaseMaker& c) {
  const std::string x = SomeSequences(c, {c.Between(1, 20), c.Between(1, 6)});
  c.Declare("table lod_rank_table");
  c.Declare("steps tensor_array f32[] lod=0");
  c.Op("lod_rank_table(X=", x, ") -> (Out=table) {level=0}");
  c.Op("max_sequence_len(RankTable=table) -> (Out=longest)");
  c.Op("lod_tensor_to_array(X=", x, ", RankTable=table) -> (Out=steps)");
  c.Op("lod_array_length(X=steps) -> (Out=length)");
  c.Op("array_to_lod_tensor(X=steps, RankTable=table) -> (Out=again)");
  c.Fetch({"longest", "length", "again"});
  c.Exact();
}

// A few tensors of one kind and of several numbers of rows; what was written last is read.
void Elements(CaseMaker& c) {
  const int width = c.Between(1, 6);
  c.Declare("array tensor_array f32[] lod=0");
  for (int i = 0; i < c.Between(1, 3); ++i) {
    const std::string x = c.Numbers({c.Between(1, 5), width});
    const std::string place = c.Integers(VarType::INT64, {1}, 0, 4);
    c.Op("write_to_array(X=", x, ", I=", place, ") -> (Out=array)");
    c.Op("read_from_array(X=array, I=", place, ") -> (Out=out", i, ")");
    c.Op("lod_array_length(X=array) -> (Out=length", i, ")");
    if (i == 0) c.Fetch({"out0", "length0"});
  }
  c.Exact();
}

// A few tensors that are joined, of several extents along the axis, or stacked.
void Join(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const bool stacks = c.OneIn(2);
  const int axis = c.SomeAxis(dims.size() + (stacks ? 1 : 0));
  c.Declare("array tensor_array f32[] lod=0");
  const int count = c.Between(1, 4);
  for (int i = 0; i < count; ++i) {
    Dims part = dims;
    if (!stacks) part[axis < 0 ? axis + dims.size() : axis] = c.Between(1, 9);
    const std::string x = c.Numbers(part);
    c.Op("fill_constant() -> (Out=place", i, ") {shape=[1L], dtype=3, value=", i, ".0}");
    c.Op("write_to_array(X=", x, ", I=place", i, ") -> (Out=array)");
  }
  c.Op("tensor_array_to_tensor(X=array) -> (Out=out, OutIndex=extents) {axis=", axis,
       ", use_stack=", BoolText(stacks), "}");
  c.Fetch({"out", "extents"});
  c.Exact();
}

void Shrink(CaseMaker& c) {
  const std::string x = SomeSequences(c, {c.Between(1, 20), 1});
  const int64_t sequences = static_cast<int64_t>(c.Input(x).lod()[0].size()) - 1;
  c.Declare("table lod_rank_table");
  c.Op("lod_rank_table(X=", x, ") -> (Out=table) {level=0}");
  c.Op("shrink_rnn_memory(X=", c.Numbers({sequences, c.Between(1, 6)}),
       ", RankTable=table, I=", c.Integers(VarType::INT64, {1}, 0, 4), ") -> (Out=out)");
  c.Exact();
}

void Reorder(CaseMaker& c) {
  const std::string x = SomeSequences(c, {c.Between(1, 20), 1});
  const int64_t sequences = static_cast<int64_t>(c.Input(x).lod()[0].size()) - 1;
  c.Declare("table lod_rank_table");
  c.Op("lod_rank_table(X=", x, ") -> (Out=table) {level=0}");
  c.Op("reorder_lod_tensor_by_rank(X=", c.Numbers({sequences, c.Between(1, 6)}),
       ", RankTable=table) -> (Out=out)");
  c.Exact();
}

}  // namespace

Generators TensorArrayGenerators() {
  return {{"array_to_lod_tensor", Sequences},      {"lod_array_length", Elements},
          {"lod_rank_table", Sequences},           {"lod_tensor_to_array", Sequences},
          {"max_sequence_len", Sequences},         {"read_from_array", Elements},
          {"reorder_lod_tensor_by_rank", Reorder}, {"shrink_rnn_memory", Shrink},
          {"tensor_array_to_tensor", Join},        {"write_to_array", Elements}};
}

}  // namespace fixpoint::random_cases
