// Composites that were expanded and quantized by component compute the same bits simulated,
// portable and lowered.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/networks.h"
#include "proto/config/range_profile.pb.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "tests/comparisons/range_profile.h"
#include "tests/testing/parsed_program.h"
#include "transpiler/composites/composite_map.h"
#include "transpiler/composites/composite_passes.h"
#include "transpiler/patterns/rewrite.h"
#include "transpiler/train/quantize_transpiler.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

using executor::Executor;
using ::testing::IsEmpty;

// An LSTM of 4 steps, and a layer norm of what it gives.
constexpr char kLstm[] = R"(program version=2006002
block 0 {
  var feed feed_minibatch persistable
  var fetch fetch_list persistable
  var x f32[4,3,8]
  var h0 f32[1,3,8] persistable
  var c0 f32[1,3,8] persistable
  var wi f32[32,8] persistable
  var wh f32[32,8] persistable
  var bi f32[32] persistable
  var bh f32[32] persistable
  var g f32[8] persistable
  var b f32[8] persistable
  var y f32[4,3,8]
  var h f32[1,3,8]
  var c f32[1,3,8]
  var r f32[]
  var n f32[4,3,8]
  var mean f32[12]
  var variance f32[12]
  feed(X=feed) -> (Out=x) {col=0}
  rnn(Input=x, PreState=[h0, c0], WeightList=[wi, wh, bi, bh]) -> (Out=y, Reserve=r, State=[h, c]) {mode="LSTM", hidden_size=8, input_size=8, is_test=true}
  layer_norm(Bias=b, Scale=g, X=y) -> (Mean=mean, Variance=variance, Y=n) {begin_norm_axis=2}
  fetch(X=n) -> (Out=fetch) {col=0}
}
)";

TEST(CompositesByComponent, AnLstmAndALayerNormAreProfiledAfterTheyAreExpanded) {
  Program program = ParsedProgram(kLstm);
  auto passes = RewritePasses({});
  ASSERT_TRUE(passes.ok() && AddCompositePasses(&*passes).ok());
  RewriteOptions expand;
  expand.passes = &*passes;
  expand.pipeline = "expand_composites";
  ASSERT_TRUE(Rewrite(&program, {}, expand).ok());
  Scope parameters;
  uint64_t seed = 1;
  for (const Variable* variable : program.block(0).variables()) {
    if (!variable->persistable() || variable->tensor() == nullptr) continue;
    const auto& dims = variable->tensor()->dims();
    parameters.Set(variable->name(), RandomImages({dims.begin(), dims.end()}, seed++));
  }
  const Tensor x = RandomImages({4, 3, 8}, 100);
  const auto profile = ProfileOf(program, &parameters, {"x", &x});
  ASSERT_TRUE(profile.ok()) << profile.status();

  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.config.add_also_quantize("elementwise_mul");
  options.profile = &*profile;
  const auto transpiled = Transpile(&program, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  const auto startup = Executor::Create(*transpiled->new_startup, &parameters);
  ASSERT_TRUE(startup.ok()) << startup.status();
  ASSERT_TRUE((*startup)->Run({}, {}, 0).ok());
  const auto made = MakeForms(program, std::move(parameters), "x", {"n"});
  ASSERT_TRUE(made.ok()) << made.status();
  NetworkForms& forms = **made;
  EXPECT_EQ(ReadCompositeMap(forms.lowered.program)->composites_size(), 2);
  EXPECT_THAT(NotOnIntegers(forms.lowered, {"matmul_v2"}), IsEmpty());
  const auto compared = CompareForms(forms, x, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count("n"), 1);
}

TEST(CompositesByComponent, AnEncoderIsTrainedByComponent) {
  Network network = BuildNetwork("encoder", 2);
  const Tensor images = RandomImages(network.image_dims, 100);
  PassTable passes = TrainPasses();
  ASSERT_TRUE(AddCompositePasses(&passes).ok());
  TranspileOptions options;
  options.passes = &passes;
  options.pipeline = std::string("expand_composites,") + kTrainPipeline;
  const auto forms =
      TrainForms(std::move(network), "also_quantize: 'elementwise_mul'", std::move(options));
  ASSERT_TRUE(forms.ok()) << forms.status();
  EXPECT_GT(ReadCompositeMap((*forms)->lowered.program)->composites_size(), 0);
  const auto compared = CompareForms(**forms, images, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count((*forms)->scores), 1);
}

}  // namespace
}  // namespace fixpoint
