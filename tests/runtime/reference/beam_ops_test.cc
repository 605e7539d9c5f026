// Searches with beams.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

std::string SearchError(const std::string& attributes, const std::string& values) {
  return RunOps(absl::StrCat("beam_search(pre_ids=p, pre_scores=s, ids=i, scores=c) -> "
                             "(selected_ids=y, selected_scores=z, parent_idx=r) {",
                             attributes, "}"),
                values);
}

// Two sources, of one and of two prefixes. Of the second source a prefix has ended, and keeps its
// score.
TEST(BeamSearch, KeepsTheBestWordsOfEachSource) {
  EXPECT_EQ(SearchError("level=0, beam_size=2, end_id=0",
                        "p i64[3,1] 5 0 6\n"
                        "s f32[3,1] 0 1.5 0\n"
                        "i i64[3,2] 1 2 3 4 0 7\n"
                        "c f32[3,2] lod={0,1,3}{0,1,2,3} 1 2 9 9 1 2\n"),
            "r i32[4] 0 0 1 2\ny i64[4,1] lod={0,1,3}{0,2,3,4} 2 1 0 7\n"
            "z f32[4,1] lod={0,1,3}{0,2,3,4} 2 1 1.5 2\n");
}

// Without ids a word is its place, and a score that is not accumulated is a probability.
TEST(BeamSearch, AddsLogarithmsOfProbabilities) {
  EXPECT_EQ(RunOps("beam_search(pre_ids=p, pre_scores=s, scores=c) -> "
                   "(selected_ids=y, selected_scores=z) "
                   "{level=0, beam_size=1, end_id=9, is_accumulated=false}",
                   "p i64[1,1] 5\ns f32[1,1] 3\nc f32[1,3] lod={0,1}{0,1} 0.5 1 0.25\n"),
            "y i64[1,1] lod={0,1}{0,1} 1\nz f32[1,1] lod={0,1}{0,1} 3\n");
}

// Of equal scores the later prefix comes first, and of one prefix the earlier word; what leaves a
// full list is its last word.
TEST(BeamSearch, PutsTheLaterPrefixFirst) {
  EXPECT_EQ(SearchError("level=0, beam_size=3, end_id=0",
                        "p i64[2,1] 5 6\ns f32[2,1] 0 0\ni i64[2,2] 1 2 3 4\n"
                        "c f32[2,2] lod={0,2}{0,1,2} 1 1 1 1\n"),
            "r i32[3] 0 1 1\ny i64[3,1] lod={0,2}{0,1,3} 1 3 4\n"
            "z f32[3,1] lod={0,2}{0,1,3} 1 1 1\n");
}

TEST(BeamSearch, GivesNothingForASourceThatHasEnded) {
  EXPECT_EQ(SearchError("level=0, beam_size=2, end_id=0",
                        "p i64[2,1] 0 0\ns f32[2,1] 3 4\ni i64[2,1] 1 1\n"
                        "c f32[2,1] lod={0,1,2}{0,1,2} 1 1\n"),
            "r i32[0] \ny i64[0,1] lod={0,1,2}{0,0,0} \nz f32[0,1] lod={0,1,2}{0,0,0} \n");
}

TEST(BeamSearch, WantsWhatFits) {
  constexpr char kPrefixes[] = "p i64[2,1] 1 2\ns f32[2,1] 3 4\n";
  constexpr char kWords[] = "i i64[2,1] 1 1\nc f32[2,1] lod={0,2}{0,1,2} 1 1\n";
  const std::string values = absl::StrCat(kPrefixes, kWords);
  EXPECT_EQ(SearchError("level=0, beam_size=0, end_id=0", values),
            "block 0, op 0 (beam_search): beam_size is 0; want 1 to 65536");
  for (const char* level : {"-1", "2"}) {
    EXPECT_EQ(SearchError(absl::StrCat("level=", level, ", beam_size=1, end_id=0"), values),
              absl::StrCat("block 0, op 0 (beam_search): level is ", level,
                           " and scores has 2 levels of offsets; want one of them"));
  }
  EXPECT_EQ(
      SearchError("level=0, beam_size=1, end_id=0",
                  absl::StrCat(kPrefixes, "i i64[2,1] 1 1\n", "c f32[2,1] lod={0,3}{0,1,2} 1 1\n")),
      "block 0, op 0 (beam_search): scores is [2, 1], and its offsets do not cut it; want "
      "them ascending from 0");
}

// The arrays of a search of two steps after the first words.
std::string Arrays(const std::string& last_ids, const std::string& last_lod) {
  return absl::StrCat("i0 i64[1,1] lod={0,1}{0,1} 1\ns0 f32[1,1] lod={0,1}{0,1} 0\n",
                      "i1 i64[2,1] lod={0,1}{0,2} 2 3\ns1 f32[2,1] lod={0,1}{0,2} 1 2\n",
                      "i2 i64[2,1] lod=", last_lod, " ", last_ids, "\n",
                      "s2 f32[2,1] lod=", last_lod, " 3 4\n",
                      "n0 i64[1] 0\nn1 i64[1] 1\nn2 i64[1] 2\n");
}

constexpr char kDecode[] = R"(var a tensor_array i64[-1,1] lod=2
                              var b tensor_array f32[-1,1] lod=2
                              write_to_array(X=i0, I=n0) -> (Out=a)
                              write_to_array(X=s0, I=n0) -> (Out=b)
                              write_to_array(X=i1, I=n1) -> (Out=a)
                              write_to_array(X=s1, I=n1) -> (Out=b)
                              write_to_array(X=i2, I=n2) -> (Out=a)
                              write_to_array(X=s2, I=n2) -> (Out=b)
                              beam_search_decode(Ids=a, Scores=b) -> (SentenceIds=y,
                                SentenceScores=z) {beam_size=3, end_id=0})";

// The better sentence first; of the third there is none.
TEST(BeamSearchDecode, FollowsWordsBackToTheFirstStep) {
  EXPECT_EQ(RunOps(kDecode, Arrays("4 0", "{0,2}{0,1,2}")),
            "y i64[6] lod={0,3}{0,3,6,6} 1 3 0 1 2 4\nz f32[6] lod={0,3}{0,3,6,6} 0 2 4 0 1 3\n");
}

TEST(BeamSearchDecode, WantsWordsThatContinueOthers) {
  EXPECT_EQ(RunOps(kDecode, Arrays("4 5", "{0,3}{0,0,1,2}")),
            "block 0, op 6 (beam_search_decode): Ids[1] has 2 words, and Ids[2] continues word 2");
  EXPECT_EQ(RunOps(kDecode, Arrays("4 5", "{0,1,2}{0,1,2}")),
            "block 0, op 6 (beam_search_decode): Ids[2] has 2 levels of offsets for 2 words; want "
            "those of sources, as many in each step, and of prefixes");
}

TEST(GatherTree, FollowsParentsFromTheLastStep) {
  constexpr char kText[] = "gather_tree(Ids=x, Parents=p) -> (Out=y)";
  EXPECT_EQ(RunOps(kText,
                   "x i64[3,1,2] 1 2 3 4 5 6\n"
                   "p i64[3,1,2] 9 9 1 0 0 0\n"),
            "y i64[3,1,2] 2 2 3 3 5 6\n");
  EXPECT_EQ(RunOps(kText, "x i64[2,1,2] 1 2 3 4\np i64[2,1,2] 0 0 2 0\n"),
            "block 0, op 0 (gather_tree): Parents has 2; want 0 to 1");
}

// Rows without offsets, and sequences with those in them.
TEST(SplitLodTensor, DividesByAMaskAndMergesAgain) {
  constexpr char kText[] = R"(split_lod_tensor(X=x, Mask=m) -> (OutTrue=t, OutFalse=f) {level=0}
                              merge_lod_tensor(X=x, Mask=m, InTrue=t, InFalse=f) -> (
                                Out=again) {level=0})";
  EXPECT_EQ(RunOps(kText, "x f32[3,1] 1 2 3\nm bool[3,1] 1 0 1\n"),
            "again f32[3,1] 1 2 3\nf f32[1,1] 2\nt f32[2,1] 1 3\n");
  EXPECT_EQ(RunOps(kText, "x f32[4,1] lod={0,1,4} 1 2 3 4\nm bool[2,1] 0 1\n"),
            "again f32[4,1] lod={0,1,4} 1 2 3 4\nf f32[1,1] lod={0,1} 1\n"
            "t f32[3,1] lod={0,3} 2 3 4\n");
  EXPECT_EQ(RunOps(kText, "x f32[2,1] 1 2\nm bool[2,1] 1 1\n"),
            "again f32[2,1] 1 2\nf f32[0,1] \nt f32[2,1] 1 2\n");
  EXPECT_EQ(RunOps(kText, "x f32[3,1] 1 2 3\nm bool[2,1] 1 1\n"),
            "block 0, op 0 (split_lod_tensor): X has 3 rows or sequences; want 2, as many as Mask "
            "says");
}

}  // namespace
}  // namespace fixpoint::reference
