#include "proto/program/op_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

TEST(OpBuilder, AddsToTheSlotThatIsThere) {
  const std::vector<std::string> more = {"b", "c"};
  const OpDesc op = OpBuilder("sum")
                        .Input("X", "a")
                        .Input("Y", "y")
                        .Input("X", more)
                        .Output("Out", {"o", "p"})
                        .Output("Out", "q")
                        .Build();
  EXPECT_EQ(PrintOp(op), "sum(X=[a, b, c], Y=y) -> (Out=[o, p, q])");
}

TEST(OpBuilder, MakesAnEmptySlotOfNoArguments) {
  EXPECT_EQ(PrintOp(OpBuilder("sum").Input("X", std::vector<std::string>()).Build()), "sum(X=[])");
}

TEST(OpBuilder, TakesListsOfStrings) {
  EXPECT_EQ(PrintOp(OpBuilder("sum").StringsAttr("names", {"a", "b"}).Build()),
            "sum() {names=[\"a\", \"b\"]}");
}

}  // namespace
}  // namespace fixpoint
