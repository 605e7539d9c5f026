// Searches with beams, and rows that a mask divides, on the executor and on the reference
// interpreter.

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

TEST(BeamSearch, IsAsOnTheInterpreter) {
  for (const char* attributes :
       {"level=0, beam_size=2, end_id=0", "level=0, beam_size=3, end_id=9, is_accumulated=false",
        "level=1, beam_size=1, end_id=4"}) {
    SCOPED_TRACE(attributes);
    EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
    block 0 {
      var p i64[-1,1]
      var s f32[-1,1]
      var i i64[-1,2]
      var c f32[-1,2] lod=2
      beam_search(pre_ids=p, pre_scores=s, ids=i, scores=c) -> (
        selected_ids=y, selected_scores=z, parent_idx=r) {)",
                                         attributes, "}\n}"),
                            "p i64[4,1] 5 0 6 4\ns f32[4,1] 0 1.5 0 1\n"
                            "i i64[4,2] 1 2 3 4 0 7 1 1\n"
                            "c f32[4,2] lod={0,1,3}{0,1,3,4} 1 2 9 9 1 2 2 3\n"),
              "");
  }
}

// A decoder that goes on from the words that it found likely: the last words, their scores and the
// states of a step are in arrays, which grow from one prefix of each sentence to several.
constexpr char kTranslation[] = R"(program version=2006002
  block 0 {
    var first_ids i64[-1,1] lod=2
    var first_scores f32[-1,1] lod=2
    var first_state f32[-1,4]
    var words f32[8,3]
    var u f32[4,4]
    var w f32[3,4]
    var b f32[4]
    var v f32[4,8]
    var ids tensor_array i64[-1,1] lod=2
    var scores tensor_array f32[-1,1] lod=2
    var states tensor_array f32[-1,4] lod=0
    fill_constant() -> (Out=t) {shape=[1L], dtype=3, value=0.0}
    fill_constant() -> (Out=steps) {shape=[1L], dtype=3, value=5.0}
    write_to_array(X=first_ids, I=t) -> (Out=ids)
    write_to_array(X=first_scores, I=t) -> (Out=scores)
    write_to_array(X=first_state, I=t) -> (Out=states)
    less_than(X=t, Y=steps) -> (Out=goes_on)
    while(X=[words, u, w, b, v, t, steps, ids, scores, states], Condition=goes_on) -> (
      Out=[t, ids, scores, states, goes_on], StepScopes=[]) {sub_block=block(1)}
    beam_search_decode(Ids=ids, Scores=scores) -> (SentenceIds=y, SentenceScores=z) {
      beam_size=3, end_id=1}
  }
  block 1 parent=0 {
    var last_ids i64[-1,1] lod=2
    var last_scores f32[-1,1] lod=2
    var last_state f32[-1,4]
    var state f32[-1,4]
    var embedded f32[-1,3]
    var from_state f32[-1,4]
    var from_word f32[-1,4]
    var both f32[-1,4]
    var sum f32[-1,4]
    var new_state f32[-1,4]
    var cut_state f32[-1,4] lod=2
    var logits f32[-1,8]
    var likely f32[-1,8]
    var best f32[-1,4]
    var best_ids i64[-1,4]
    var logs f32[-1,4]
    var before f32[-1]
    var accumulated f32[-1,4]
    var new_ids i64[-1,1] lod=2
    var new_scores f32[-1,1] lod=2
    var parents i32[-1]
    var has_time bool[1]
    var is_over bool[1]
    var has_words bool[1]
    read_from_array(X=ids, I=t) -> (Out=last_ids)
    read_from_array(X=scores, I=t) -> (Out=last_scores)
    read_from_array(X=states, I=t) -> (Out=last_state)
    sequence_expand(X=last_state, Y=last_scores) -> (Out=state) {ref_level=-1}
    lookup_table(W=words, Ids=last_ids) -> (Out=embedded)
    mul(X=state, Y=u) -> (Out=from_state)
    mul(X=embedded, Y=w) -> (Out=from_word)
    sum(X=[from_state, from_word]) -> (Out=both)
    elementwise_add(X=both, Y=b) -> (Out=sum) {axis=1}
    tanh(X=sum) -> (Out=new_state)
    lod_reset(X=new_state, Y=last_scores) -> (Out=cut_state)
    mul(X=cut_state, Y=v) -> (Out=logits)
    softmax(X=logits) -> (Out=likely)
    top_k(X=likely) -> (Out=best, Indices=best_ids) {k=4}
    log(X=best) -> (Out=logs)
    reshape(X=last_scores) -> (Out=before) {shape=[-1]}
    elementwise_add(X=logs, Y=before) -> (Out=accumulated) {axis=0}
    beam_search(pre_ids=last_ids, pre_scores=last_scores, ids=best_ids, scores=accumulated) -> (
      selected_ids=new_ids, selected_scores=new_scores, parent_idx=parents) {
        level=0, beam_size=3, end_id=1}
    increment(X=t) -> (Out=t)
    write_to_array(X=new_state, I=t) -> (Out=states)
    write_to_array(X=new_ids, I=t) -> (Out=ids)
    write_to_array(X=new_scores, I=t) -> (Out=scores)
    less_than(X=t, Y=steps) -> (Out=has_time)
    is_empty(X=new_ids) -> (Out=is_over)
    logical_not(X=is_over) -> (Out=has_words)
    logical_and(X=has_time, Y=has_words) -> (Out=goes_on)
  })";

std::string Parameters() {
  return absl::StrCat(Drawn("words", {8, 3}), Drawn("u", {4, 4}), Drawn("w", {3, 4}),
                      Drawn("b", {4}), Drawn("v", {4, 8}));
}

TEST(BeamSearch, TranslatesSentencesOfABatch) {
  EXPECT_EQ(OpDifferences(kTranslation,
                          absl::StrCat(Parameters(), Drawn("first_state", {2, 4}),
                                       "first_ids i64[2,1] lod={0,1,2}{0,1,2} 2 2\n"
                                       "first_scores f32[2,1] lod={0,1,2}{0,1,2} 0 0\n"),
                          1e-6, {"y", "z"}),
            "");
}

// The search ends when all sentences have: the only word is the one that ends them.
TEST(BeamSearch, EndsWithTheLastSentence) {
  Scope scope = *ParseParameters(
      absl::StrCat(
          "words f32[8,3] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
          "u f32[4,4] 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1\nw f32[3,4] 0 0 0 0 0 0 0 0 0 0 0 0\n",
          "b f32[4] 9 9 9 9\nv f32[4,8] 0 5 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0 5 "
          "0 0 0 0 0 0\n"),
      "values");
  const Program program = ParsedProgram(kTranslation);
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  const Scope given = *ParseParameters(
      "first_state f32[1,4] 0 0 0 0\nfirst_ids i64[1,1] lod={0,1}{0,1} 2\n"
      "first_scores f32[1,1] lod={0,1}{0,1} 0\n",
      "feeds");
  std::vector<Feed> feeds;
  for (const auto& [name, value] : given) feeds.push_back({name, &std::get<Tensor>(value)});
  const auto run = (*executor)->Run(feeds, {"y", "t"}, 0);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ((*run)[0].data<int64_t>()[1], 1);
}

TEST(GatherTree, IsAsOnTheInterpreter) {
  for (const char* dtype : {"i64", "i32"}) {
    EXPECT_EQ(OpDifferences(absl::StrCat("program version=2006002\nblock 0 {\nvar x ", dtype,
                                         "[3,2,2]\nvar p ", dtype,
                                         "[3,2,2]\ngather_tree(Ids=x, Parents=p) -> (Out=y)\n}"),
                            absl::StrCat("x ", dtype, "[3,2,2] 1 2 3 4 5 6 7 8 9 10 11 12\np ",
                                         dtype, "[3,2,2] 0 0 0 0 1 0 0 1 0 0 1 1\n")),
              "");
  }
}

TEST(SplitLodTensor, IsAsOnTheInterpreter) {
  for (const char* mask : {"1 0 1", "0 0 0", "1 1 1"}) {
    for (const char* x : {"x f32[3,2] 1 2 3 4 5 6\n", "x f32[4,2] lod={0,1,1,4} 1 2 3 4 5 6 7 8\n",
                          "x f32[4,2] lod={0,1,2,4}{0,1,1,3,4} 1 2 3 4 5 6 7 8\n"}) {
      SCOPED_TRACE(absl::StrCat(mask, x));
      EXPECT_EQ(OpDifferences(R"(program version=2006002
      block 0 {
        var x f32[-1,2]
        var m bool[3,1]
        split_lod_tensor(X=x, Mask=m) -> (OutTrue=t, OutFalse=f) {level=0}
        scale(X=t) -> (Out=twice) {scale=2.0}
        merge_lod_tensor(X=x, Mask=m, InTrue=twice, InFalse=f) -> (Out=again) {level=0}
      })",
                              absl::StrCat(x, "m bool[3,1] ", mask, "\n"), 0, {"t", "f", "again"}),
                "");
    }
  }
}

// No row of x is in t, which then has none of the offsets that it may have.
TEST(MergeLodTensor, RefusesALevelThatXHasNotInTheRun) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
      block 0 {
        split_lod_tensor(X=x, Mask=none) -> (OutTrue=t, OutFalse=f) {level=0}
        merge_lod_tensor(X=t, Mask=m, InTrue=p, InFalse=p) -> (Out=y) {level=1}
      })",
                            "x f32[3,1] lod={0,3} 1 2 3\nnone bool[1] 0\nm bool[2] 1 0\n"
                            "p f32[1,1] 4\n",
                            0, {"y"}),
              testing::HasSubstr("level is 1 and X has 0 levels of offsets"));
}

}  // namespace
}  // namespace fixpoint::executor
