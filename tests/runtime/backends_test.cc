// Backends by name, and what each of them does alike.

#include "runtime/backends.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/program.h"
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

INSTANTIATE_TEST_SUITE_P(Backends, EachBackend, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fixpoint
