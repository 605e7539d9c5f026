#include "tests/transpiler/composites/expanded_programs.h"

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <deque>

#include "runtime/reference/interpreter.h"
#include "runtime/scope.h"
#include "transpiler/composites/composite_passes.h"

namespace fixpoint {

const char kTrained[] = R"(program version=2006002
block 0 {
  var x f32[3,4]
  var w f32[4,4] persistable
  var g f32[4] persistable
  var b f32[4] persistable
  var a f32[3,4]
  var p f32[3,4]
  var y f32[3,4]
  var mean f32[3] stop_gradient
  var variance f32[3] stop_gradient
  var h f32[3,4]
  var z f32[3,4]
  var l f32[1]
  matmul_v2(X=x, Y=w) -> (Out=a)
  softmax(X=a) -> (Out=p)
  layer_norm(Bias=b, Scale=g, X=p) -> (Mean=mean, Variance=variance, Y=y) {begin_norm_axis=1}
  gelu(X=y) -> (Out=h)
  matmul_v2(X=h, Y=w) -> (Out=z)
  mean(X=z) -> (Out=l)
}
)";

std::string Bytes(const Program& program) { return program.Proto().SerializeAsString(); }

absl::StatusOr<RewriteReport> RunPasses(
    Program* program, const std::string& pipeline,
    const std::optional<std::vector<std::string>>& raised_types) {
  auto passes = RewritePasses({});
  CHECK(passes.ok() && AddCompositePasses(&*passes).ok());
  RewriteOptions options;
  options.passes = &*passes;
  options.pipeline = pipeline;
  options.explain = true;
  options.raised_types = raised_types;
  auto report = Rewrite(program, {}, options);
  program->ClearEditLog();
  return report;
}

Program Expanded(const Program& program) {
  Program expanded = program.Clone();
  const auto report = RunPasses(&expanded, "expand_composites");
  CHECK(report.ok()) << report.status();
  CHECK(!report->replaced.empty());
  return expanded;
}

Tensor Numbers(std::vector<int64_t> dims, int seed, float scale) {
  Tensor tensor = Tensor::Allocate(VarType::FP32, std::move(dims)).value();
  int i = seed;
  for (float& value : tensor.mutable_data<float>()) {
    i = (i * 7919 + 104729) % 10007;
    value = scale * (i / 5003.0f - 1);
  }
  return tensor;
}

std::vector<float> Fetched(const Program& program, const std::string& fetch,
                           const std::vector<NamedTensor>& values) {
  Scope scope;
  for (const NamedTensor& value : values) scope.Set(value.name, *value.tensor->Clone());
  auto interpreter = reference::Interpreter::Create(program, &scope);
  CHECK(interpreter.ok()) << interpreter.status();
  const auto fetched = interpreter->Run({}, {fetch}, 0);
  CHECK(fetched.ok()) << fetched.status();
  const auto data = (*fetched)[0].data<float>();
  return {data.begin(), data.end()};
}

std::vector<float> Fetched(
    const Program& program, const std::string& fetch,
    const std::vector<std::pair<std::string, std::vector<int64_t>>>& values) {
  std::deque<Tensor> tensors;
  std::vector<NamedTensor> named;
  for (const auto& [name, dims] : values) {
    tensors.push_back(Numbers(dims, static_cast<int>(tensors.size()) + 1));
    named.push_back({name, &tensors.back()});
  }
  return Fetched(program, fetch, named);
}

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << i;
}

}  // namespace fixpoint
