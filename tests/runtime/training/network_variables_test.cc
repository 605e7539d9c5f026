// Finding where a program is fed and what it computes.

#include "runtime/training/network_variables.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

std::string Found(const char* program_text, const NetworkVariables& named = {}) {
  const auto found = FindNetworkVariables(ParsedProgram(program_text), named);
  if (!found.ok()) return std::string(found.status().message());
  return absl::StrCat("images ", found->images, ", labels ", found->labels, ", loss ", found->loss,
                      ", scores ", found->scores);
}

TEST(NetworkVariables, AreFoundInATrainingProgram) {
  EXPECT_EQ(Found(R"(
    var x f32[-1,4]
    var t i64[-1,1]
    var w f32[4,3] persistable
    var y f32[-1,3]
    var p f32[-1,3]
    var l f32[-1,1]
    var cost f32[1]
    var cost@GRAD f32[1]
    mul(X=x, Y=w) -> (Out=y)
    softmax_with_cross_entropy(Logits=y, Label=t) -> (Softmax=p, Loss=l)
    mean(X=l) -> (Out=cost)
    fill_constant() -> (Out=cost@GRAD) {shape=[1L], value=1.0, op_role=257}
  )"),
            "images x, labels t, loss cost, scores y");
}

TEST(NetworkVariables, OfACrossEntropyOfProbabilitiesTheyAreTheScores) {
  EXPECT_EQ(Found(R"(
    var x f32[-1,3]
    var t i64[-1,1]
    var p f32[-1,3]
    var l f32[-1,1]
    softmax(X=x) -> (Out=p)
    cross_entropy(X=p, Label=t) -> (Y=l)
  )"),
            "images x, labels t, loss , scores p");
}

TEST(NetworkVariables, AnInferenceProgramHasWhatItFetches) {
  EXPECT_EQ(Found(R"(
    var feed feed_minibatch persistable
    var fetch fetch_list persistable
    var x f32[-1,3]
    var p f32[-1,3]
    feed(X=feed) -> (Out=x) {col=0}
    softmax(X=x) -> (Out=p)
    fetch(X=p) -> (Out=fetch) {col=0}
  )"),
            "images x, labels , loss , scores p");
}

std::string FoundOfAny(const char* program_text) {
  const auto found = FindNetworkVariables(ParsedProgram(program_text), {}, NetworkInputs::kAny);
  if (!found.ok()) return std::string(found.status().message());
  return absl::StrCat("images ", found->images, ", labels ", found->labels, ", loss ", found->loss,
                      ", scores ", found->scores);
}

TEST(NetworkVariables, OfAnyInputsLabelsAreThoseOfACrossEntropy) {
  EXPECT_EQ(FoundOfAny(R"(
    var x f32[-1,3]
    var ids i64[-1,1]
    var t i64[-1,1]
    var p f32[-1,3]
    var l f32[-1,1]
    lookup_table(W=w, Ids=ids) -> (Out=e)
    elementwise_add(X=x, Y=e) -> (Out=p)
    cross_entropy(X=p, Label=t) -> (Y=l)
  )"),
            "images , labels t, loss , scores p");
  EXPECT_EQ(FoundOfAny("var x i64[-1,1]\nvar y i64[-1,1]\nassign(X=x) -> (Out=y)\n"),
            "images , labels , loss , scores ");
}

constexpr char kTwoInputs[] = R"(
  var a f32[-1,3]
  var b f32[-1,3]
  var c f32[-1,3]
  elementwise_add(X=a, Y=b) -> (Out=c)
)";

TEST(NetworkVariables, WhatCouldBeSeveralHasToBeNamed) {
  EXPECT_EQ(Found(kTwoInputs),
            "which of the fed variables a, b is the images is not known; want it named");
  EXPECT_EQ(Found(kTwoInputs, {"b", "", "c", ""}), "images b, labels , loss c, scores ");
  EXPECT_EQ(Found(kTwoInputs, {"d", "", "", ""}),
            "block 0 has no variable \"d\", which is to be fed images");
  EXPECT_EQ(Found("var x i64[-1]\n"), "no variable of block 0 is fed images");
}

}  // namespace
}  // namespace fixpoint
