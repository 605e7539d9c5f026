#include "transpiler/report/reduce.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/random_program.h"

namespace fixpoint {
namespace {

int CountOps(const ProgramDesc& program, const std::string& type) {
  int count = 0;
  for (const BlockDesc& block : program.blocks()) {
    for (const OpDesc& op : block.ops()) count += op.type() == type;
  }
  return count;
}

TEST(Reduce, KeepsWhatTheFailureNeedsInItsOrder) {
  const ProgramDesc program = ParsedProgram(R"(
    block 0 {
      var x f32[4]
      var y f32[4]
      relu(X=x) -> (Out=y) {axis=1, name="a"}
      tanh(X=y) -> (Out=x)
      relu(X=x) -> (Out=y) {axis=2}
      scale(X=y) -> (Out=x) {scale=2.0}
    }
    block 1 parent=0 {
      sigmoid(X=x) -> (Out=y)
    }
  )")
                                  .Proto();
  const ProgramDesc reduced = Reduce(program, [](const ProgramDesc& candidate) {
    return CountOps(candidate, "relu") >= 1 && CountOps(candidate, "scale") == 1;
  });
  EXPECT_EQ(PrintProgram(reduced),
            "program\n"
            "block 0 {\n"
            "  relu(X=x) -> (Out=y)\n"
            "  scale(X=y) -> (Out=x)\n"
            "}\n");
}

TEST(Reduce, KeepsVariablesAndAttributesThatTheFailureNeeds) {
  const ProgramDesc program = ParsedProgram(R"(
    var x f32[4]
    var y f32[4]
    relu(X=x) -> (Out=y) {axis=1, name="a"}
  )")
                                  .Proto();
  const ProgramDesc reduced = Reduce(program, [](const ProgramDesc& candidate) {
    const std::string text = PrintProgram(candidate);
    return text.find("var y") != std::string::npos && text.find("name") != std::string::npos;
  });
  EXPECT_EQ(PrintProgram(reduced),
            "program\n"
            "block 0 {\n"
            "  var y f32[4]\n"
            "  relu(X=x) -> (Out=y) {name=\"a\"}\n"
            "}\n");
}

TEST(Reduce, LeavesNoOpThatCouldGo) {
  const ProgramDesc program = RandomProgram(7);
  const int products = CountOps(program, "mul");
  ASSERT_GT(products, 1);
  const ProgramDesc reduced = Reduce(program, [products](const ProgramDesc& candidate) {
    return CountOps(candidate, "mul") == products;
  });
  int ops = 0;
  for (const BlockDesc& block : reduced.blocks()) ops += block.ops_size();
  EXPECT_EQ(ops, products);
}

// Without this, looking for a smaller program takes a copy of it for each of its ops and
// attributes.
TEST(Reduce, IsDoneWhenTheTimeIsUp) {
  ProgramDesc program;
  BlockDesc* block = program.add_blocks();
  OpDesc op;
  op.set_type("scale");
  for (int i = 0; i < 20; ++i) *op.add_attrs() = MakeStringAttr(absl::StrCat("attr_", i), "value");
  for (int i = 0; i < 20000; ++i) *block->add_ops() = op;
  ReduceOptions options;
  options.seconds = 0.1;
  const absl::Time start = absl::Now();
  const ProgramDesc reduced = Reduce(
      program, [](const ProgramDesc&) { return false; }, options);
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  EXPECT_EQ(reduced.blocks(0).ops_size(), 20000);
}

// What fails is in one place: the candidates that find it are small.
TEST(Reduce, TriesSmallPartsFirst) {
  ProgramDesc program;
  BlockDesc* block = program.add_blocks();
  for (int i = 0; i < 4096; ++i) block->add_ops()->set_type(i == 1234 ? "relu" : "scale");
  int64_t ops = 0;
  const ProgramDesc reduced = Reduce(program, [&ops](const ProgramDesc& candidate) {
    ops += candidate.blocks(0).ops_size();
    return CountOps(candidate, "relu") == 1;
  });
  EXPECT_EQ(reduced.blocks(0).ops_size(), 1);
  EXPECT_LT(ops, 2 * 4096);
}

TEST(Reduce, GivesTheProgramBackWhereNothingCanGo) {
  const ProgramDesc program = RandomProgram(7);
  const ProgramDesc reduced = Reduce(program, [](const ProgramDesc&) { return false; });
  EXPECT_EQ(PrintProgram(reduced), PrintProgram(program));
}

TEST(Reduce, TriesNothingWithoutTime) {
  const ProgramDesc program = RandomProgram(7);
  ReduceOptions options;
  options.seconds = 0;
  int tries = 0;
  const ProgramDesc reduced = Reduce(
      program,
      [&tries](const ProgramDesc&) {
        ++tries;
        return true;
      },
      options);
  EXPECT_EQ(tries, 0);
  EXPECT_EQ(PrintProgram(reduced), PrintProgram(program));
}

}  // namespace
}  // namespace fixpoint
