// Gradients of sparse embeddings, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/executor/executor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGradient[] =
    "lookup_table_v2_grad(W=w, Ids=ids, Out@GRAD=d) -> (W@GRAD=g) {is_sparse=true}\n";

std::string Inputs() {
  return absl::StrCat(Drawn("w", {9, 5}), Drawn("d", {2, 3, 5}), "ids i64[2,3] 8 2 2 0 8 2\n",
                      "lr f32[1] 0.5\n");
}

// The differences where everything is fetched, and where only `fetches` are.
std::string Differences(const std::string& ops, const std::string& inputs,
                        const std::vector<std::string>& fetches) {
  const std::string program =
      absl::StrCat("program version=2006002\nblock 0 {\n", kGradient, ops, "\n}");
  return OpDifferences(program, Inputs() + inputs) +
         OpDifferences(program, Inputs() + inputs, 1e-5, fetches);
}

TEST(SelectedRows, AreWhatTheInterpreterHas) {
  EXPECT_EQ(Differences(R"(
      relu(X=g) -> (Out=table)
      get_tensor_from_selected_rows(X=g) -> (Out=all)
      merge_selected_rows(X=g) -> (Out=m)
      merge_selected_rows(X=m) -> (Out=same)
      get_tensor_from_selected_rows(X=same) -> (Out=rows)
      square(X=rows) -> (Out=squares)
      reduce_sum(X=squares) -> (Out=sum) {reduce_all=true}
      squared_l2_norm(X=rows) -> (Out=norm)
      squared_l2_norm(X=all) -> (Out=other))",
                        "", {"table", "all", "rows", "sum", "norm", "other"}),
            "");
}

TEST(SelectedRows, AreScaledSummedAndClipped) {
  EXPECT_EQ(Differences(R"(
      scale(X=g) -> (Out=half) {scale=0.5, bias=2.0, bias_after_scale=false}
      elementwise_mul(X=g, Y=lr) -> (Out=multiple)
      merge_selected_rows(X=half) -> (Out=merged)
      sum(X=[half, multiple, merged]) -> (Out=s)
      get_tensor_from_selected_rows(X=s) -> (Out=rows)
      sum(X=[half, w]) -> (Out=whole)
      sum(X=g) -> (Out=one)
      get_tensor_from_selected_rows(X=one) -> (Out=row)
      clip(X=g) -> (Out=c) {min=0.25, max=0.5}
      clip_by_norm(X=g) -> (Out=n) {max_norm=0.5}
      get_tensor_from_selected_rows(X=n) -> (Out=of_norm)
      elementwise_mul(X=g, Y=w) -> (Out=product))",
                        "", {"rows", "whole", "row", "c", "of_norm", "product"}),
            "");
}

// Where rows of one id were merged there is room for more, which counts in no norm.
TEST(SelectedRows, CountInANormWithoutTheRoomAfterThem) {
  EXPECT_EQ(Differences(R"(
      merge_selected_rows(X=g) -> (Out=m)
      scale(X=m) -> (Out=moved) {bias=2.0}
      clip_by_norm(X=moved) -> (Out=n) {max_norm=0.5}
      get_tensor_from_selected_rows(X=n) -> (Out=of_moved)
      clip(X=g) -> (Out=c) {min=0.25, max=0.5}
      clip_by_norm(X=c) -> (Out=k) {max_norm=0.5}
      get_tensor_from_selected_rows(X=k) -> (Out=of_clipped))",
                        "", {"of_moved", "of_clipped"}),
            "");
}

struct Rule {
  const char* op;
  bool touches_rows;
};

class OptimizersOfRows : public testing::TestWithParam<Rule> {};

constexpr char kOfAdam[] = R"((Param=w, Grad=g, LearningRate=lr, Moment1=m1, Moment2=m2,
    Beta1Pow=b1, Beta2Pow=b2) -> (ParamOut=w, Moment1Out=m1, Moment2Out=m2, Beta1PowOut=b1,
    Beta2PowOut=b2))";
constexpr char kOne[] = "b1 f32[1] 0.5\nb2 f32[1] 0.75\n";

std::string OpOf(const Rule& rule) {
  const std::string op = rule.op;
  const size_t slots = op.find("ADAM");
  if (slots == std::string::npos) return op;
  return op.substr(0, slots) + kOfAdam + op.substr(slots + 4);
}

std::string States() {
  std::string moment = Drawn("m2", {9, 5});
  for (char& c : moment) {
    if (c == '-') c = ' ';
  }
  return Drawn("m1", {9, 5}) + moment + kOne;
}

TEST_P(OptimizersOfRows, UpdateAsTheInterpreter) {
  EXPECT_EQ(Differences(OpOf(GetParam()), States(), {"w"}), "");
  // Merged by another op before.
  const std::string op = OpOf(GetParam());
  EXPECT_EQ(Differences("merge_selected_rows(X=g) -> (Out=g)\n" + op, States(), {"w"}), "");
}

// Whether a step computes the whole gradient, or the table is copied.
TEST_P(OptimizersOfRows, TouchNoOthers) {
  const Program program = ParsedProgram(absl::StrCat(
      "program version=2006002\nblock 0 {\nvar w f32[9,5] persistable\nvar m1 f32[9,5] "
      "persistable\n"
      "var m2 f32[9,5] persistable\nvar b1 f32[1] persistable\nvar b2 f32[1] persistable\n",
      kGradient, OpOf(GetParam()), "\n}"));
  Scope scope = *ParseParameters(Inputs() + States(), "inputs");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  ASSERT_TRUE((*executor)->Run({}, {}, 0).ok());
  const std::string plan = (*executor)->PlanText();
  if (GetParam().touches_rows) {
    EXPECT_THAT(plan, Not(HasSubstr("to a table")));
    EXPECT_THAT(plan, Not(HasSubstr("store")));
    EXPECT_THAT(plan, HasSubstr("of rows"));
  } else {
    EXPECT_THAT(plan, HasSubstr("to a table"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimizersOfRows,
    testing::Values(
        Rule{"sgd(Param=w, Grad=g, LearningRate=lr) -> (ParamOut=w)", true},
        Rule{"adagrad(Param=w, Grad=g, LearningRate=lr, Moment=m2) -> (ParamOut=w, MomentOut=m2)",
             true},
        Rule{"adam ADAM {lazy_mode=true}", true}, Rule{"adamw ADAM {lazy_mode=true}", true},
        Rule{"adamw ADAM {lazy_mode=true, with_decay=true, coeff=0.25}", true},
        Rule{"adam ADAM", false}, Rule{"lamb ADAM {weight_decay=0.5}", false},
        Rule{"momentum(Param=w, Grad=g, LearningRate=lr, Velocity=m1) -> (ParamOut=w, "
             "VelocityOut=m1) {mu=0.5}",
             false},
        Rule{"rmsprop(Param=w, Grad=g, LearningRate=lr, MeanSquare=m2, Moment=m1) -> (ParamOut=w, "
             "MomentOut=m1, MeanSquareOut=m2)",
             false}));

// Only the row of padding differs, as in the reference.
TEST(SelectedRows, HaveTheRowOfPadding) {
  EXPECT_EQ(OpDifferences("lookup_table_grad(W=w, Ids=i, Out@GRAD=d) -> (W@GRAD=g) "
                          "{is_sparse=true, padding_idx=1}",
                          "w f32[2,1] 0 0\ni i64[2,1] 1 0\nd f32[2,1] 3 4\n"),
            "");
}

TEST(SelectedRows, AreRefusedWhereBothRefuseThem) {
  EXPECT_THAT(OpDifferences("merge_selected_rows(X=x) -> (Out=y)", "x f32[2,2] 1 2 3 4\n"),
              HasSubstr("X is a tensor; want the gradient of a sparse embedding"));
  EXPECT_THAT(OpDifferences("lookup_table_grad(W=w, Ids=i, Out@GRAD=d) -> (W@GRAD=g) "
                            "{is_sparse=true}",
                            "w f32[2,1] 0 0\ni i64[2,1] 2 0\nd f32[2,1] 3 4\n"),
              HasSubstr("want 0 to 1"));
}

}  // namespace
}  // namespace fixpoint::executor
