// Searches with beams, and rows that a mask divides.

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

void Search(CaseMaker& c) {
  const int64_t rows = c.Between(1, 9);
  const int64_t words = c.Between(1, 6);
  const std::string scores = c.Numbers({rows, words});
  c.CutIntoSequences(scores);
  c.Op("beam_search(pre_ids=", c.Integers(VarType::INT64, {rows, 1}, 0, 3),
       ", pre_scores=", c.Numbers({rows, 1}),
       ", ids=", c.Integers(VarType::INT64, {rows, words}, 0, 9), ", scores=", scores,
       ") -> (selected_ids=out, selected_scores=best, parent_idx=parents) {level=0, beam_size=",
       c.Between(1, 5), ", end_id=1}");
  c.Exact();
}

// Words of one source, each of which continues one of the step before.
void Decode(CaseMaker& c) {
  const int64_t words = c.Between(1, 4);
  c.Declare("all_ids tensor_array i64[] lod=2");
  c.Declare("all_scores tensor_array f32[] lod=2");
  for (int t = 0; t < c.Between(1, 4); ++t) {
    const std::string ids = c.Integers(VarType::INT64, {words, 1}, 0, 3);
    const std::string scores = c.Numbers({words, 1});
    const std::string source = c.Numbers({words, 1});
    const std::string place = c.Integers(VarType::INT64, {1}, t, t);
    c.Op("beam_search(pre_ids=", ids, ", pre_scores=", scores, ", ids=", ids, ", scores=", source,
         ") -> (selected_ids=ids", t, ", selected_scores=scores", t,
         ") {level=0, beam_size=", words, ", end_id=9}");
    c.MakeOneSequence(source);
    c.Op("write_to_array(X=ids", t, ", I=", place, ") -> (Out=all_ids)");
    c.Op("write_to_array(X=scores", t, ", I=", place, ") -> (Out=all_scores)");
  }
  c.Op(
      "beam_search_decode(Ids=all_ids, Scores=all_scores) -> (SentenceIds=out, "
      "SentenceScores=of_words) {beam_size=",
      words, ", end_id=0}");
  c.Fetch({"out", "of_words"});
  c.Exact();
}

void Tree(CaseMaker& c) {
  const Dims dims = {c.Between(1, 6), c.Between(1, 4), c.Between(1, 5)};
  const VarType::Type dtype = c.OneOf({VarType::INT64, VarType::INT32});
  c.Op("gather_tree(Ids=", c.Integers(dtype, dims, 0, 99),
       ", Parents=", c.Integers(dtype, dims, 0, dims[2] - 1), ") -> (Out=out)");
  c.Exact();
}

void Masked(CaseMaker& c) {
  const int64_t rows = c.Between(1, 9);
  const std::string x = c.Numbers({rows, c.Between(1, 5)});
  int64_t entries = rows;
  if (c.OneIn(2)) {
    c.CutIntoSequences(x);
    entries = static_cast<int64_t>(c.Input(x).lod()[0].size()) - 1;
  }
  const std::string mask = c.Integers(VarType::BOOL, {entries, 1}, 0, 1);
  c.Op("split_lod_tensor(X=", x, ", Mask=", mask, ") -> (OutTrue=yes, OutFalse=no) {level=0}");
  c.Op("merge_lod_tensor(X=", x, ", Mask=", mask,
       ", InTrue=yes, InFalse=no) -> (Out=out) {level=0}");
  c.Fetch({"yes", "no", "out"});
  c.Exact();
}

}  // namespace

Generators SearchGenerators() {
  return {{"beam_search", Search},
          {"beam_search_decode", Decode},
          {"gather_tree", Tree},
          {"merge_lod_tensor", Masked},
          {"split_lod_tensor", Masked}};
}

}  // namespace fixpoint::random_cases
