// Offsets of sequences: plans are made for them, ops pass them on, and some ops use them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint::executor {
namespace {

// Sequences of sequences: of two, of none, and of one with no row and one with two.
constexpr char kNested[] =
    "x f32[5,2] lod={0,2,2,4}{0,2,3,3,5} 1 8 3 4 5 6 -1 2 0.5 -4\n"
    "w f32[6,3] 1 -2 3 0.5 1 0 2 2 -1 1 1 1 0 3 -3 0.25 -1 2\n";

struct SequenceOp {
  std::string name;
  std::string ops;
};

void PrintTo(const SequenceOp& op, std::ostream* out) { *out << op.name; }

class Sequences : public testing::TestWithParam<SequenceOp> {};

TEST_P(Sequences, AreAsOnTheInterpreter) { EXPECT_EQ(OpDifferences(GetParam().ops, kNested), ""); }

SequenceOp Pool(const std::string& type) {
  return {"pool_" + type, "sequence_pool(X=x) -> (Out=y, MaxIndex=i) {pooltype=\"" + type +
                              "\", pad_value=-2.5}\n"
                              "sequence_pool(X=y) -> (Out=z) {pooltype=\"" +
                              type +
                              "\"}\n"
                              "sequence_pool_grad(X=x, MaxIndex=i, Out@GRAD=y) -> (X@GRAD=dx) "
                              "{pooltype=\"" +
                              type + "\"}"};
}

INSTANTIATE_TEST_SUITE_P(Ops, Sequences,
                         testing::Values(Pool("AVERAGE"), Pool("SUM"), Pool("SQRT"), Pool("MAX"),
                                         Pool("LAST"), Pool("FIRST"), SequenceOp{"softmax", R"(
          reduce_sum(X=x) -> (Out=s) {dim=[1], keep_dim=true}
          elementwise_sub(X=x, Y=s) -> (Out=d) {axis=0}
          slice(Input=d) -> (Out=e) {axes=[1], starts=[0], ends=[1]}
          sequence_softmax(X=e) -> (Out=y))"},
                                         SequenceOp{"convolution", R"(
          sequence_conv(X=x, Filter=w) -> (Out=y) {contextLength=3, contextStart=-1}
          sequence_conv_grad(X=x, Filter=w, Out@GRAD=y) -> (X@GRAD=dx, Filter@GRAD=dw) {
            contextLength=3, contextStart=-1})"},
                                         SequenceOp{"convolution_of_rows_before", R"(
          sequence_conv(X=x, Filter=w) -> (Out=y) {contextLength=3, contextStart=-4})"},
                                         // What is quantized or fused keeps its offsets.
                                         SequenceOp{"quantized", R"(
          relu(X=x) -> (Out=r)
          fake_quantize_abs_max(X=r) -> (Out=q, OutScale=s) {bit_length=8}
          fake_dequantize_max_abs(X=q, Scale=s) -> (Out=d) {max_range=127.0}
          sequence_conv(X=d, Filter=w) -> (Out=y) {contextLength=3, contextStart=0})"},
                                         SequenceOp{"as_many_rows_as_sequences", R"(
          fill_constant_batch_size_like(Input=x) -> (Out=y) {shape=[-1, 3], dtype=5, value=2.0}
          fill_constant_batch_size_like(Input=x) -> (Out=z) {shape=[7, -1], dtype=5, value=2.0,
            input_dim_idx=1, output_dim_idx=1})"}),
                         [](const auto& info) { return info.param.name; });

// The product does the work of the bias and the relu, and the values between are not held; the last
// value has the offsets.
TEST(Sequences, GoThroughFusedSteps) {
  const std::string inputs =
      "x f32[3,2] lod={0,2,3} 1 8 3 4 5 -6\nw f32[2,2] 1 -1 0.5 1\nb f32[2] 1 -1\n";
  EXPECT_EQ(OpDifferences(R"(
      mul(X=x, Y=w) -> (Out=m)
      elementwise_add(X=m, Y=b) -> (Out=a) {axis=1}
      relu(X=a) -> (Out=r)
      sequence_pool(X=r) -> (Out=y) {pooltype="SUM"})",
                          inputs, 1e-5, {"r", "y"}),
            "");
}

constexpr char kPoolOfRelu[] = R"(
    relu(X=x) -> (Out=r)
    sequence_pool(X=r) -> (Out=y) {pooltype="SUM"})";

class FedSequences : public testing::Test {
 protected:
  std::string Run(LoD lod) {
    Tensor x = Tensor::FromValues<float>({3, 1}, {1, 2, 4});
    x.set_lod(std::move(lod));
    auto fetched = executor_->Run({{"x", &x}}, {"r", "y"}, 0);
    if (!fetched.ok()) return std::string(fetched.status().message());
    Scope scope;
    scope.Set("r", std::move((*fetched)[0]));
    scope.Set("y", std::move((*fetched)[1]));
    return PrintParameters(scope);
  }

  size_t PlanCount() const {
    const std::string plans = executor_->PlanText();
    size_t count = 0;
    for (size_t at = plans.find("arena "); at != std::string::npos; ++count) {
      at = plans.find("arena ", at + 1);
    }
    return count;
  }

  const Program program_ = ParsedProgram(kPoolOfRelu);
  Scope scope_;
  const std::unique_ptr<Executor> executor_ = *Executor::Create(program_, &scope_);
};

// As many rows and as many sequences, cut at another place.
TEST_F(FedSequences, ArePlannedForTheirOffsets) {
  EXPECT_EQ(Run({{0, 2, 3}}), "r f32[3,1] lod={0,2,3} 1 2 4\ny f32[2,1] 3 4\n");
  EXPECT_EQ(Run({{0, 1, 3}}), "r f32[3,1] lod={0,1,3} 1 2 4\ny f32[2,1] 1 6\n");
  EXPECT_EQ(Run({{0, 2, 3}}), "r f32[3,1] lod={0,2,3} 1 2 4\ny f32[2,1] 3 4\n");
  EXPECT_EQ(PlanCount(), 2u);
  EXPECT_EQ(Run({{0, 2}, {0, 2, 3}}),
            "r f32[3,1] lod={0,2}{0,2,3} 1 2 4\ny f32[2,1] lod={0,2} 3 4\n");
  EXPECT_EQ(PlanCount(), 3u);
}

// There may be any number of offsets.
TEST_F(FedSequences, OfLongAgoAreForgotten) {
  for (uint64_t cut = 0; cut < 100; ++cut) {
    std::vector<uint64_t> offsets(cut + 1, 0);
    offsets.push_back(3);
    EXPECT_THAT(Run({offsets}), testing::HasSubstr(absl::StrCat("y f32[", cut + 1, ",1] ")));
  }
  EXPECT_EQ(PlanCount(), 16u);
}

TEST_F(FedSequences, ThatDoNotFitAreRefusedByTheirOp) {
  const std::string op = "block 0, op 1 (sequence_pool): X [3, 1] has ";
  EXPECT_EQ(Run({}), op + "no offsets of sequences; want a level of them");
  EXPECT_EQ(Run({{}}), op + "no offsets of sequences; want a level of them");
  for (const std::vector<uint64_t>& offsets :
       {std::vector<uint64_t>{0, 4}, {0, 2}, {1, 3}, {0, 3, 2, 3}}) {
    EXPECT_EQ(Run({offsets}), absl::StrCat(op, "offsets up to ", offsets.back(),
                                           "; want them ascending from 0 to the number of its "
                                           "rows"));
  }
}

// Offsets of the scope are planned for as those of feeds; a variable that persists has those of
// what is written last, and others do not disturb where nobody reads them.
TEST(SequencesInTheScope, AreReadAndKept) {
  const Program program = ParsedProgram(R"(program version=1008005
    block 0 {
      var x f32[3,1] lod=1 persistable
      var kept f32[3,1] lod=1 persistable
      var pooled f32[-1,1] persistable
      scale(X=x) -> (Out=kept) {scale=2.0}
      sequence_pool(X=x) -> (Out=pooled) {pooltype="SUM"}
    })");
  Scope scope = *ParseParameters("x f32[3,1] lod={0,2,3} 1 2 4\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  ASSERT_EQ((*executor)->Run({}, {}, 0).status(), absl::OkStatus());
  EXPECT_EQ(PrintParameters(scope),
            "kept f32[3,1] lod={0,2,3} 2 4 8\npooled f32[2,1] 3 4\nx f32[3,1] lod={0,2,3} 1 2 4\n");
  Tensor x = Tensor::FromValues<float>({3, 1}, {1, 2, 4});
  x.set_lod({{0, 1, 3}});
  scope.Set("x", std::move(x));
  for (uint32_t step = 1; step < 3; ++step) {
    ASSERT_EQ((*executor)->Run({}, {}, step).status(), absl::OkStatus());
    EXPECT_EQ(
        PrintParameters(scope),
        "kept f32[3,1] lod={0,1,3} 2 4 8\npooled f32[2,1] 1 6\nx f32[3,1] lod={0,1,3} 1 2 4\n");
  }
}

// A variable that is read before it is written begins each run with what the last one left.
TEST(SequencesInTheScope, BeginWithWhatTheLastRunLeft) {
  const Program program = ParsedProgram(R"(program version=1008005
    block 0 {
      var last f32[3,1] lod=1 persistable
      scale(X=last) -> (Out=before) {scale=1.0}
      relu(X=x) -> (Out=last)
    })");
  Scope scope = *ParseParameters("last f32[3,1] 0 0 0\n", "scope");
  const auto executor = Executor::Create(program, &scope);
  ASSERT_TRUE(executor.ok()) << executor.status();
  LoD expected;
  for (const LoD& lod : {LoD{{0, 1, 3}}, LoD{{0, 1, 3}}, LoD{{0, 2, 3}}, LoD{{0, 1, 3}}}) {
    Tensor x = Tensor::FromValues<float>({3, 1}, {1, 2, 4});
    x.set_lod(lod);
    const auto fetched = (*executor)->Run({{"x", &x}}, {"before"}, 0);
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    EXPECT_EQ((*fetched)[0].lod(), expected);
    expected = lod;
  }
}

std::string InConditional(const std::string& ops) {
  return absl::StrCat(R"(program version=2006002
    block 0 {
      var y f32[3,1] lod=1
      scale(X=)",
                      ops, R"() -> (Out=y) {scale=2.0}
      conditional_block(Cond=c, Input=x) -> (Out=y, Scope=[]) {
        sub_block=block(1), is_scalar_condition=true}
      sequence_pool(X=x) -> (Out=z) {pooltype="SUM"}
    }
    block 1 parent=0 {
      var r f32[3,1]
      relu(X=x) -> (Out=r)
      sequence_softmax(X=r) -> (Out=y)
    })");
}

constexpr char kCut[] = "c bool[1] 1\nx f32[3,1] lod={0,2,3} 1 -2 4\nplain f32[3,1] 1 2 3\n";

TEST(SequencesInBlocks, AreThoseOfAround) {
  EXPECT_EQ(OpDifferences(InConditional("x"), kCut, 1e-6, {"y", "z"}), "");
}

// Whether a block has run is not known when what is after it is planned.
TEST(SequencesInBlocks, StayAsTheyWereBefore) {
  EXPECT_THAT(OpDifferences(InConditional("plain"), kCut, 1e-6, {"y"}),
              testing::HasSubstr("block 0, op 1 (conditional_block): block 1 writes \"y\" with "
                                 "other offsets of sequences than it had before; want the same"));
}

}  // namespace
}  // namespace fixpoint::executor
