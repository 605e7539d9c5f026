#include "transpiler/reduce.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/program_text.h"
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
