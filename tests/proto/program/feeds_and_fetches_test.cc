#include "proto/program/feeds_and_fetches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FeedsAndFetches, AreThoseOfTheirOps) {
  const Program program = ParsedProgram(R"(
    var feed feed_minibatch persistable
    var fetch fetch_list persistable
    var x f32[2]
    var other f32[2]
    var y f32[2]
    feed(X=feed) -> (Out=x) {col=0}
    elementwise_add(X=x, Y=other) -> (Out=y)
    fetch(X=y) -> (Out=fetch) {col=0}
  )");
  EXPECT_THAT(NamesOf(FedVariables(program)), ElementsAre("x"));
  EXPECT_THAT(NamesOf(FetchedVariables(program)), ElementsAre("y"));
}

TEST(FeedsAndFetches, WithoutOpsWhatIsReadAndNeverWrittenIsFed) {
  const Program program = ParsedProgram(R"(
    var unused f32[2]
    var x f32[2]
    var w f32[2] persistable
    var y f32[2]
    elementwise_add(X=x, Y=w) -> (Out=y)
  )");
  EXPECT_THAT(NamesOf(FedVariables(program)), ElementsAre("x"));
  EXPECT_THAT(NamesOf(FetchedVariables(program)), IsEmpty());
}

TEST(FeedsAndFetches, WhatIsReadBeforeItIsWrittenIsFed) {
  const Program program = ParsedProgram(R"(
    var image f32[2]
    var a f32[2]
    var y f32[2]
    scale(X=image) -> (Out=image)
    relu(X=image) -> (Out=a)
    relu(X=a) -> (Out=y)
    relu(X=y) -> (Out=a)
  )");
  EXPECT_THAT(NamesOf(FedVariables(program)), ElementsAre("image"));
}

TEST(FeedsAndFetches, ALoopReadsFirstWhatItIsFed) {
  const Program program = ParsedProgram(R"(
    block 0 {
      var go bool[1]
      var x f32[2]
      var inner f32[2]
      var y f32[2]
      fill_constant() -> (Out=go) {dtype=0, shape=[1L]}
      while(Condition=go, X=[x, inner]) -> (Out=[x, inner, go], StepScopes=[]) {sub_block=block(1)}
      elementwise_add(X=x, Y=inner) -> (Out=y)
    }
    block 1 parent=0 {
      relu(X=x) -> (Out=inner)
      assign(X=inner) -> (Out=x)
      assign(X=go) -> (Out=go)
    }
  )");
  EXPECT_THAT(NamesOf(FedVariables(program)), ElementsAre("x"));
}

// `marks` stand after the declaration of x, which both conditionals write.
Program TwoConditionals(const std::string& marks) {
  return ParsedProgram(absl::StrReplaceAll(R"(
    block 0 {
      var go bool[1]
      var x f32[2] MARKS
      var y f32[2]
      conditional_block(Cond=go, Input=[x]) -> (Out=[x], Scope=[]) {sub_block=block(1)}
      conditional_block(Cond=go, Input=[x]) -> (Out=[x], Scope=[]) {sub_block=block(2)}
      relu(X=x) -> (Out=y)
    }
    block 1 parent=0 {
      fill_constant() -> (Out=x) {shape=[2L]}
    }
    block 2 parent=0 {
      fill_constant() -> (Out=x) {shape=[2L], value=1.0}
    }
  )",
                                           {{"MARKS", marks}}));
}

TEST(FeedsAndFetches, WhatConditionalsWriteIsFedWhereItIsMarked) {
  EXPECT_THAT(NamesOf(FedVariables(TwoConditionals(""))), ElementsAre("go"));
  EXPECT_THAT(NamesOf(FedVariables(TwoConditionals("need_check_feed"))), ElementsAre("go", "x"));
}

}  // namespace
}  // namespace fixpoint
