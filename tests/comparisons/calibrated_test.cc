// A float program of the reference that was never trained with quantizers is quantized by ranges
// observed while it ran: the classifier of an OCR system becomes an integer program that computes
// what its simulation computes, bit for bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "proto/config/range_profile.pb.h"
#include "proto/file/program_file.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "tests/comparisons/range_profile.h"
#include "tests/testing/npy.h"
#include "tests/testing/reference_data.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

using executor::Executor;
using ::testing::IsEmpty;

TEST(Calibrated, TheClassifierComputesOnIntegersWhatIsSimulated) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::string folder = ReferencePath("models/with_params/ch_ppocr_mobile_v2.0_cls");
  auto loaded = LoadProgram(folder + "/inference.pdmodel.gz");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  auto program = Program::Create(std::move(loaded->program), "classifier");
  ASSERT_TRUE(program.ok()) << program.status();
  auto parameters = LoadParameters(program->Proto(), folder + "/inference.pdiparams");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const std::string image(FedVariables(*program).front()->name());
  const std::string scores(FetchedVariables(*program).front()->name());
  const Tensor images = LoadNpyOrDie(folder + "/input_x.npy");
  const auto profile = ProfileOf(*program, &*parameters, {image, &images});
  ASSERT_TRUE(profile.ok()) << profile.status();

  TranspileOptions options;
  options.config.set_target("onednn_int8");
  options.profile = &*profile;
  const auto transpiled = Transpile(&*program, options);
  ASSERT_TRUE(transpiled.ok()) << transpiled.status();
  const auto startup = Executor::Create(*transpiled->new_startup, &*parameters);
  ASSERT_TRUE(startup.ok()) << startup.status();
  ASSERT_TRUE((*startup)->Run({}, {}, 0).ok());
  const auto made = MakeForms(*program, *std::move(parameters), image, {scores});
  ASSERT_TRUE(made.ok()) << made.status();
  NetworkForms& forms = **made;
  EXPECT_THAT(NotOnIntegers(forms.lowered, {"conv2d", "depthwise_conv2d", "mul"}), IsEmpty());
  const auto compared = CompareForms(forms, images, Fetching::kAllInOneRun);
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_EQ(compared->variables.count(scores), 1);
  const auto simulated_scores = ScoresOf(forms, forms.simulated, &forms.trained, images);
  const auto lowered_scores = ScoresOf(forms, forms.lowered.program, &forms.lowered.scope, images);
  ASSERT_TRUE(simulated_scores.ok() && lowered_scores.ok());
  EXPECT_EQ(*lowered_scores, *simulated_scores);
}

}  // namespace
}  // namespace fixpoint
