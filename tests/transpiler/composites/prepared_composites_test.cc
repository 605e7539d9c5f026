// What preparing does to what was expanded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "proto/program/program.h"
#include "runtime/scope.h"
#include "tests/testing/parsed_program.h"
#include "tests/transpiler/composites/expanded_programs.h"
#include "transpiler/prepare/prepare.h"

namespace fixpoint {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr char kGru[] = R"(program version=2006002
block 0 {
  var x f32[-1,12] lod=1
  var w f32[4,12] persistable
  var h f32[-1,4] lod=1
  gru(Input=x, Weight=w) -> (Hidden=h)
}
)";

class PreparedComposites : public testing::Test {
 protected:
  PreparedComposites() { scope_.Set("w", Numbers({4, 12}, 1)); }

  PreparedModel Prepared(const Program& program) {
    auto model = Prepare(program, scope_);
    EXPECT_TRUE(model.ok()) << model.status();
    return *std::move(model);
  }

  Scope scope_;
};

// The matrices in its weight become parameters, whose ops are gone.
TEST_F(PreparedComposites, ThatCannotBeGivenBackAreNoted) {
  PreparedModel model = Prepared(Expanded(ParsedProgram(kGru)));
  EXPECT_THAT(model.notes,
              Contains("composites that cannot be given back any more, because parameters alone "
                       "decide some of their components, which were computed: 1, the first is gru; "
                       "prepare before expand_composites where they are to be"));
  EXPECT_FALSE(RunPasses(&model.program, "raise_composites").ok());
}

TEST_F(PreparedComposites, AreGivenBackIfPreparedBefore) {
  PreparedModel model = Prepared(ParsedProgram(kGru));
  EXPECT_THAT(model.notes, Each(Not(HasSubstr("composites"))));
  Program expanded = Expanded(model.program);
  EXPECT_TRUE(RunPasses(&expanded, "raise_composites").ok());
}

TEST_F(PreparedComposites, WithoutConstantComponentsAreGivenBackAfterwards) {
  PreparedModel model = Prepared(Expanded(ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[2,4]
  var p f32[2,4]
  var s f32[2,4]
  softmax(X=x) -> (Out=p) {axis=-1}
  swish(X=p) -> (Out=s) {beta=1.0}
}
)")));
  EXPECT_THAT(model.notes, Each(Not(HasSubstr("composites"))));
  EXPECT_TRUE(RunPasses(&model.program, "raise_composites").ok());
}

}  // namespace
}  // namespace fixpoint
