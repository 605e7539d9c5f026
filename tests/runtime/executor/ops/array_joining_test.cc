// Arrays of tensors joined to one tensor, on the executor and on the reference interpreter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

using ::testing::HasSubstr;

// x and y in an array.
constexpr char kTwo[] = R"(program version=2006002
  block 0 {
    var a tensor_array f32[-1,-1] lod=0
    fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
    fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
    write_to_array(X=y, I=one) -> (Out=a)
    write_to_array(X=x, I=zero) -> (Out=a)
    tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {)";

TEST(TensorArrayToTensor, JoinsOrStacksAlongAnyAxis) {
  for (const char* attributes :
       {"axis=0", "axis=1", "axis=2", "axis=-1", "axis=-3", "axis=0, use_stack=true",
        "axis=1, use_stack=true", "axis=3, use_stack=true", "axis=-1, use_stack=true",
        "axis=-4, use_stack=true"}) {
    SCOPED_TRACE(attributes);
    EXPECT_EQ(OpDifferences(absl::StrCat(kTwo, attributes, "}\n}"),
                            Drawn("x", {2, 3, 4}) + Drawn("y", {2, 3, 4}), 0, {"z", "n"}),
              "");
  }
}

TEST(TensorArrayToTensor, JoinsTensorsOfSeveralExtentsAlongTheAxis) {
  const auto differences = [](int axis, const std::vector<int64_t>& x,
                              const std::vector<int64_t>& y) {
    return OpDifferences(absl::StrCat(kTwo, "axis=", axis, "}\n}"), Drawn("x", x) + Drawn("y", y),
                         0, {"z", "n"});
  };
  EXPECT_EQ(differences(0, {2, 3}, {4, 3}), "");
  EXPECT_EQ(differences(1, {2, 3}, {2, 5}), "");
  EXPECT_EQ(differences(-2, {2, 1, 3}, {2, 4, 3}), "");
  const std::string error =
      "block 0, op 4 (tensor_array_to_tensor): X[1] is [4, 3] and X[0] [2, 3]; want them equal but "
      "for axis 1\n";
  EXPECT_EQ(differences(1, {2, 3}, {4, 3}),
            absl::StrCat("executor: ", error, "interpreter: ", error));
}

TEST(TensorArrayToTensor, HoldsTensorsOfOtherTypes) {
  EXPECT_EQ(OpDifferences(absl::StrCat(kTwo, "axis=1}\n}"), "x i64[2,1] 1 2\ny i64[2,2] 3 4 5 6\n",
                          0, {"z", "n"}),
            "");
}

// What it gives is known before the run, so that any op takes it.
TEST(TensorArrayToTensor, GivesExtentsThatOtherOpsTake) {
  EXPECT_EQ(OpDifferences(absl::StrCat(kTwo, R"(axis=1}
    transpose(X=z) -> (Out=turned) {axis=[1, 0]}
    matmul(X=z, Y=turned) -> (Out=product)
  })"),
                          Drawn("x", {2, 3}) + Drawn("y", {2, 5}), 1e-6, {"product"}),
            "");
}

TEST(TensorArrayToTensor, WantsAnAxisOfItsTensors) {
  for (const char* attributes : {"axis=2", "axis=-3", "axis=3, use_stack=true"}) {
    EXPECT_THAT(OpDifferences(absl::StrCat(kTwo, attributes, "}\n}"),
                              Drawn("x", {2, 3}) + Drawn("y", {2, 3}), 0, {"z"}),
                HasSubstr("and the tensors are [2, 3]\ninterpreter: block 0, op 4 "
                          "(tensor_array_to_tensor): axis is "))
        << attributes;
  }
}

TEST(TensorArrayToTensor, WantsATensorInEachPlace) {
  const auto differences = [](const char* first) {
    return OpDifferences(absl::StrCat(R"(program version=2006002
    block 0 {
      var a tensor_array f32[-1,-1] lod=0
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
      fill_constant() -> (Out=two) {shape=[1L], dtype=3, value=2.0}
      write_to_array(X=x, I=two) -> (Out=a)
      write_to_array(X=x, I=)",
                                      first, R"() -> (Out=a)
      tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {axis=0}
    })"),
                         Drawn("x", {2, 3}), 0, {"z"});
  };
  const auto both = [](const std::string& error) {
    const std::string at = "block 0, op 5 (tensor_array_to_tensor): ";
    return absl::StrCat("executor: ", at, error, "\ninterpreter: ", at, error, "\n");
  };
  EXPECT_EQ(differences("zero"),
            both("X[1] is unset and X[0] [2, 3]; want them equal but for axis 0"));
  EXPECT_EQ(differences("one"), both("X has no first tensor; want tensors from place 0 on"));
}

// Rows that a run decides, in places that are known.
TEST(TensorArrayToTensor, JoinsTensorsWhoseRowsARunDecides) {
  for (const char* attributes : {"axis=0", "axis=1", "axis=0, use_stack=true"}) {
    SCOPED_TRACE(attributes);
    const std::string second = absl::StrCat(attributes) == "axis=0" ? "d" : "c";
    EXPECT_EQ(
        OpDifferences(absl::StrCat(R"(program version=2006002
    block 0 {
      var a tensor_array i64[-1,-1] lod=0
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
      where_index(Condition=c) -> (Out=x)
      where_index(Condition=)",
                                   second, R"() -> (Out=y)
      write_to_array(X=x, I=zero) -> (Out=a)
      write_to_array(X=y, I=one) -> (Out=a)
      tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {)",
                                   attributes, "}\nscale(X=z) -> (Out=w) {scale=2.0}\n}"),
                      "c bool[2,3] 1 0 1 0 0 1\nd bool[3,2] 0 0 1 0 0 0\n", 0, {"z", "n", "w"}),
        "");
  }
}

TEST(TensorArrayToTensor, RefusesExtentsOfARunWhereOtherOpsReadRows) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
    block 0 {
      var a tensor_array i64[-1,-1] lod=0
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      where_index(Condition=c) -> (Out=x)
      write_to_array(X=x, I=zero) -> (Out=a)
      tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {axis=0, use_stack=true}
      cast(X=z) -> (Out=f) {in_dtype=3, out_dtype=5}
      softmax(X=f) -> (Out=y)
    })",
                            "c bool[2,3] 1 0 1 0 0 1\n", 0, {"y"}),
              HasSubstr("an input is [1, 3, 2]; want rows of [6, 2]"));
}

// Steps of sequences, of which there are as many as the longest has.
TEST(TensorArrayToTensor, JoinsStepsOfSequences) {
  EXPECT_EQ(OpDifferences(R"(program version=2006002
    block 0 {
      var x f32[-1,2] lod=1
      var t lod_rank_table
      var a tensor_array f32[-1,2] lod=0
      lod_rank_table(X=x) -> (Out=t) {level=0}
      lod_tensor_to_array(X=x, RankTable=t) -> (Out=a)
      tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {axis=0}
      transpose(X=z) -> (Out=turned) {axis=[1, 0]}
    })",
                          "x f32[7,2] lod={0,2,2,5,7} 1 2 3 4 5 6 7 8 9 10 11 12 13 14\n", 0,
                          {"z", "n", "turned"}),
            "");
}

// A loop that writes x + i, of 0 to `limit`, in place i.
std::string Loop(const std::string& limit, const std::string& place, const std::string& after) {
  return absl::StrCat(R"(program version=2006002
  block 0 {
    var x f32[2,3]
    var flags bool[6]
    var a tensor_array f32[2,3] lod=0
    fill_constant() -> (Out=i) {shape=[1L], dtype=3, value=0.0}
    )",
                      limit, R"(
    less_than(X=i, Y=limit) -> (Out=goes_on)
    while(X=[x, i, limit, flags], Condition=goes_on) -> (Out=[a, i, goes_on], StepScopes=[]) {
      sub_block=block(1)}
    )",
                      after, R"(
  }
  block 1 parent=0 {
    cast(X=i) -> (Out=number) {in_dtype=3, out_dtype=5}
    elementwise_add(X=x, Y=number) -> (Out=y) {axis=-1}
    )",
                      place, R"(
  })");
}

constexpr char kCount[] = R"(write_to_array(X=y, I=i) -> (Out=a)
    increment(X=i) -> (Out=i)
    less_than(X=i, Y=limit) -> (Out=goes_on))";
constexpr char kFive[] = "fill_constant() -> (Out=limit) {shape=[1L], dtype=3, value=5.0}";

TEST(TensorArrayToTensor, JoinsWhatACountingLoopWrites) {
  for (const char* attributes : {"axis=0", "axis=1", "axis=1, use_stack=true"}) {
    SCOPED_TRACE(attributes);
    EXPECT_EQ(
        OpDifferences(Loop(kFive, kCount,
                           absl::StrCat("tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {",
                                        attributes, R"(}
    reduce_sum(X=z) -> (Out=sums) {dim=[1], keep_dim=false}
    flatten2(X=z) -> (Out=matrix, XShape=s) {axis=1}
    transpose(X=matrix) -> (Out=turned) {axis=[1, 0]})")),
                      Drawn("x", {2, 3}) + "flags bool[6] 1 1 1 1 1 1\n", 1e-6,
                      {"z", "n", "sums", "turned"}),
        "");
  }
}

// As lists that grow are written: in the place after the last one.
TEST(TensorArrayToTensor, JoinsWhatALoopAppends) {
  const std::string begin = absl::StrCat(kFive, "\nwrite_to_array(X=x, I=i) -> (Out=a)");
  EXPECT_EQ(
      OpDifferences(Loop(begin, R"(lod_array_length(X=a) -> (Out=end)
    write_to_array(X=y, I=end) -> (Out=a)
    increment(X=i) -> (Out=i)
    less_than(X=i, Y=limit) -> (Out=goes_on))",
                         R"(tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {axis=0}
    transpose(X=z) -> (Out=turned) {axis=[1, 0]})"),
                    Drawn("x", {2, 3}) + "flags bool[6] 1 1 1 1 1 1\n", 0, {"z", "n", "turned"}),
      "");
}

// The loop ends when a flag is false, and no later than it counts to.
TEST(TensorArrayToTensor, JoinsWhatALoopWritesThatMayEndBefore) {
  const std::string program = Loop(kFive, R"(write_to_array(X=y, I=i) -> (Out=a)
    increment(X=i) -> (Out=i)
    less_than(X=i, Y=limit) -> (Out=is_below)
    gather(X=flags, Index=i) -> (Out=flag)
    logical_and(X=is_below, Y=flag) -> (Out=goes_on))",
                                   R"(tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {
      axis=0, use_stack=true}
    relu(X=z) -> (Out=positive))");
  for (const char* flags : {"0 0 0 1 1 1", "0 1 1 0 1 1", "0 1 1 1 1 1"}) {
    EXPECT_EQ(OpDifferences(program, Drawn("x", {2, 3}) + "flags bool[6] " + flags + "\n", 0,
                            {"z", "n", "positive"}),
              "")
        << flags;
  }
}

TEST(TensorArrayToTensor, WantsALoopThatCountsToWhatIsKnown) {
  EXPECT_THAT(
      OpDifferences(Loop("", kCount, "tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {axis=0}"),
                    Drawn("x", {2, 3}) + "flags bool[6] 1 1 1 1 1 1\nlimit i64[1] 3\n", 0, {"z"}),
      HasSubstr("how many tensors X has is known in the run alone; want them written in places "
                "that are known before it, such as those of a short loop that counts to a known "
                "number, or --backend=reference"));
}

// A loop that writes a variable with other extents than it has outside is refused, however the loop
// is followed.
TEST(TensorArrayToTensor, FollowsNoVariableOfOtherExtents) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
    block 0 {
      var a tensor_array f32[2,3] lod=0
      fill_constant() -> (Out=i) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=k) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=limit) {shape=[1L], dtype=3, value=5.0}
      less_than(X=i, Y=limit) -> (Out=goes_on)
      while(X=[x, i, k, limit], Condition=goes_on) -> (Out=[a, i, k, goes_on], StepScopes=[]) {
        sub_block=block(1)}
      tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {axis=0}
    }
    block 1 parent=0 {
      fill_constant() -> (Out=k) {shape=[64L], dtype=3, value=1.0}
      write_to_array(X=x, I=i) -> (Out=a)
      increment(X=i) -> (Out=i)
      less_than(X=i, Y=limit) -> (Out=goes_on)
    })",
                            Drawn("x", {2, 3}), 0, {"z"}),
              HasSubstr("variable \"k\" is written as [64] and held [1] before"));
}

// Of an integer that a double rounds, a block knows nothing.
TEST(TensorArrayToTensor, LargeIntegersAreNotKnownInBlocks) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
    block 0 {
      var y f32[-1,-1]
      fill_constant() -> (Out=e) {
        shape=[1L], dtype=3, value=0.0, str_value="9223372036854775807"}
      fill_constant() -> (Out=c) {shape=[1L], dtype=0, value=1.0}
      conditional_block(Cond=[c], Input=[x, e]) -> (Out=[y], Scope=[]) {
        sub_block=block(1), is_scalar_condition=true}
    }
    block 1 parent=0 {
      slice(Input=x, EndsTensor=e) -> (Out=y) {axes=[1], starts=[1], ends=[0]}
    })",
                            Drawn("x", {2, 3}), 0, {"y"}),
              HasSubstr("block 1, op 0 (slice): input EndsTensor is there; want it absent"));
}

TEST(TensorArrayToTensor, CountsNoMorePlacesThanItsIndexHolds) {
  EXPECT_THAT(OpDifferences(R"(program version=2006002
    block 0 {
      var a tensor_array f32[-1,-1] lod=0
      fill_constant() -> (Out=u) {shape=[0L, 4611686018427387904L], dtype=5, value=0.0}
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
      write_to_array(X=u, I=zero) -> (Out=a)
      write_to_array(X=u, I=one) -> (Out=a)
      tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=q) {axis=1}
    })",
                            "", 0, {"z"}),
              HasSubstr("the tensors have more than 2147483647 places on axis 1 together"));
}

// A block that may not run writes the second one.
TEST(TensorArrayToTensor, JoinsWhatABlockMayHaveWritten) {
  for (const char* condition : {"0", "1"}) {
    EXPECT_EQ(OpDifferences(R"(program version=2006002
    block 0 {
      var x f32[2,3]
      var a tensor_array f32[2,3] lod=0
      fill_constant() -> (Out=zero) {shape=[1L], dtype=3, value=0.0}
      fill_constant() -> (Out=one) {shape=[1L], dtype=3, value=1.0}
      write_to_array(X=x, I=zero) -> (Out=a)
      conditional_block(Cond=[c], Input=[x, one]) -> (Out=[a], Scope=[]) {
        sub_block=block(1), is_scalar_condition=true}
      tensor_array_to_tensor(X=a) -> (Out=z, OutIndex=n) {axis=1}
    }
    block 1 parent=0 {
      write_to_array(X=x, I=one) -> (Out=a)
    })",
                            absl::StrCat(Drawn("x", {2, 3}), "c bool[1] ", condition, "\n"), 0,
                            {"z", "n"}),
              "")
        << condition;
  }
}

}  // namespace
}  // namespace fixpoint::executor
