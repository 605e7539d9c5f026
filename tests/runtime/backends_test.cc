// Backends by name, and what they have in common.

#include "runtime/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

TEST(Backends, ANameIsThatOfItsKind) {
  for (const std::string& name : BackendNames()) EXPECT_EQ(BackendName(*BackendOfName(name)), name);
}

TEST(Backends, AnUnknownNameIsToldThoseThereAre) {
  EXPECT_EQ(BackendOfName("gpu").status(),
            absl::NotFoundError("no backend is called \"gpu\"; there are onednn, reference"));
}

class EachBackend : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Backend> Make(const Program& program, Scope* scope,
                                const BackendOptions& options = {}) {
    auto backend = MakeBackend(*BackendOfName(GetParam()), program, scope, options);
    EXPECT_TRUE(backend.ok()) << backend.status();
    return *std::move(backend);
  }
};

TEST_P(EachBackend, FeedsFetchesAndKeepsWhatIsPersistable) {
  const Program program = ParsedProgram(R"(
    var x f32[1]
    var w f32[1] persistable
    var y f32[1]
    elementwise_add(X=w, Y=x) -> (Out=w)
    scale(X=w) -> (Out=y) {scale=2.0}
  )");
  Scope scope = *ParseParameters("w f32[1] 1\n", "scope");
  const std::unique_ptr<Backend> backend = Make(program, &scope);
  const Tensor two = Tensor::FromValues<float>({1}, {2});
  const auto fetched = backend->Run({{"x", &two}}, {"y", "x"}, 0);
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ((*fetched)[0].data<float>()[0], 6);
  EXPECT_EQ((*fetched)[1].data<float>()[0], 2);
  EXPECT_EQ(PrintParameters(scope), "w f32[1] 3\n");
  scope.Set("w", Tensor::FromValues<float>({1}, {10}));
  ASSERT_TRUE(backend->Run({{"x", &two}}, {}, 1).ok());
  EXPECT_EQ(PrintParameters(scope), "w f32[1] 12\n");
}

TEST_P(EachBackend, DrawsTheSameNumbersForTheSameSeedAndStep) {
  const Program program = ParsedProgram(R"(
    var y f32[1]
    uniform_random() -> (Out=y) {shape=[1L], min=0.0, max=1.0, dtype=5}
  )");
  Scope scope;
  const auto draw = [&](uint64_t seed, uint32_t step) {
    BackendOptions options;
    options.seed = seed;
    return (*Make(program, &scope, options)->Run({}, {"y"}, step))[0].data<float>()[0];
  };
  EXPECT_EQ(draw(3, 7), draw(3, 7));
  EXPECT_NE(draw(3, 7), draw(3, 8));
  EXPECT_NE(draw(3, 7), draw(4, 7));
}

TEST_P(EachBackend, NamesTheFirstOpWithAValueThatIsNotFinite) {
  const Program program = ParsedProgram(R"(
    var w f32[1] persistable
    var y f32[1]
    var z f32[1]
    relu(X=w) -> (Out=y)
    log(X=y) -> (Out=y)
    relu(X=y) -> (Out=z)
  )");
  Scope scope = *ParseParameters("w f32[1] 0\n", "scope");
  BackendOptions options;
  options.check_finite = true;
  const absl::Status status = Make(program, &scope, options)->Run({}, {"z"}, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("block 0, op 1 (log)"), std::string::npos) << status;
}

// A quantizer turns a NaN into a code, so no op after it would show it.
TEST_P(EachBackend, NamesWhatIsNotFiniteBeforeAnOpIsRun) {
  const Program program = ParsedProgram(R"(
    var x f32[2]
    var w f32[2] persistable
    var q f32[2]
    var s f32[1]
    var y f32[2]
    elementwise_add(X=x, Y=w) -> (Out=y)
    fake_quantize_abs_max(X=y) -> (Out=q, OutScale=s) {bit_length=8}
  )");
  Scope scope = *ParseParameters("w f32[2] 1 2\n", "scope");
  BackendOptions options;
  const Tensor fed = Tensor::FromValues<float>({2}, {1, std::nanf("")});
  const auto run = [&] {
    return std::string(
        Make(program, &scope, options)->Run({{"x", &fed}}, {"q"}, 0).status().message());
  };
  EXPECT_EQ(run(), "");
  options.check_finite = true;
  EXPECT_EQ(run(), "variable \"x\": element 1 is nan; want finite numbers");
  scope = *ParseParameters("w f32[2] inf 2\n", "scope");
  const Tensor finite = Tensor::FromValues<float>({2}, {1, 2});
  const absl::Status status =
      Make(program, &scope, options)->Run({{"x", &finite}}, {"q"}, 0).status();
  EXPECT_THAT(std::string(status.message()),
              testing::EndsWith("variable \"w\": element 0 is inf; want finite numbers"));
  EXPECT_TRUE(IsNotFinite(status));
}

TEST_P(EachBackend, EndsALoopThatHasNoEnd) {
  const Program program = ParsedProgram(R"(program version=2006002
block 0 {
  var x f32[2]
  var c bool[1] persistable
  var s step_scopes
  while(X=x, Condition=c) -> (Out=x, StepScopes=s) {sub_block=block(1), is_test=true}
}
block 1 parent=0 {
  relu(X=x) -> (Out=x)
}
)");
  Scope scope = *ParseParameters("c bool[1] 1\n", "scope");
  const Tensor x = Tensor::FromValues<float>({2}, {1, 2});
  BackendOptions options;
  for (const int64_t bound : {int64_t{3}, kDefaultMaxIterations}) {
    options.max_iterations = bound;
    const absl::Status status = Make(program, &scope, options)->Run({{"x", &x}}, {"x"}, 0).status();
    EXPECT_EQ(status, absl::FailedPreconditionError(absl::StrCat(
                          "block 0, op 0 (while): the loops of this run have gone round ", bound,
                          " times, the most that --max_iterations (max_iterations in C++) allows; "
                          "want the condition \"c\" to become false, or a higher bound")));
  }
}

TEST_P(EachBackend, RefusesABoolThatIsNone) {
  const Program program = ParsedProgram(R"(
    var c bool[2]
    var d bool[2] persistable
    var y bool[2]
    logical_and(X=c, Y=d) -> (Out=y)
  )");
  Tensor good = *Tensor::Allocate(VarType::BOOL, {2});
  good.mutable_bytes()[0] = good.mutable_bytes()[1] = 1;
  Tensor bad = *good.Clone();
  bad.mutable_bytes()[1] = 2;
  const auto run = [&](const Tensor& c, const Tensor& d) {
    Scope scope;
    scope.Set("d", *d.Clone());
    return Make(program, &scope)->Run({{"c", &c}}, {"y"}, 0).status();
  };
  EXPECT_TRUE(run(good, good).ok());
  EXPECT_EQ(run(bad, good),
            absl::InvalidArgumentError("variable \"c\": element 1 is 2; want a BOOL, 0 or 1"));
  const absl::Status in_scope = run(good, bad);
  EXPECT_EQ(in_scope.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(in_scope.message()),
              testing::EndsWith("variable \"d\": element 1 is 2; want a BOOL, 0 or 1"));
}

TEST_P(EachBackend, NamesTheOpThatThereIsNoMemoryFor) {
  const Program program = ParsedProgram(R"(program version=2006002
block 0 {
  fill_constant() -> (Out=x) {shape=[2097152L, 2097152L, 1L], dtype=5, value=1.0}
  reduce_sum(X=x) -> (Out=y) {dim=[2]}
}
)");
  Scope scope;
  const absl::Status status = Make(program, &scope)->Run({}, {"y"}, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              testing::MatchesRegex("block 0, op 0 .fill_constant.: there is no memory for "
                                    "(its outputs|\"x\" .2097152, 2097152, 1.)"));
}

TEST_P(EachBackend, IsGrantedSoManyThreads) {
  const Program program = ParsedProgram("var x f32[1]\nvar y f32[1]\nrelu(X=x) -> (Out=y)\n");
  Scope scope;
  BackendOptions options;
  for (const int threads : {-1, 0, 1025, 200000}) {
    options.threads = threads;
    EXPECT_EQ(MakeBackend(*BackendOfName(GetParam()), program, &scope, options).status(),
              absl::InvalidArgumentError(absl::StrCat("threads is ", threads, "; want 1 to 1024")));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EachBackend, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fixpoint
