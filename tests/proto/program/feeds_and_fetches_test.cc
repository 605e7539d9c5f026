#include "proto/program/feeds_and_fetches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace fixpoint
