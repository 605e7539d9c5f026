// Programs that the reference quantized and trained round ties away from zero, integers to even.
// Simulated = portable; the elements in which lowered = portable does not hold are counted, and
// each is a tie by one step: op by op, so that what they change cannot hide anything else
// downstream.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/file/program_file.h"
#include "proto/program/attributes.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "runtime/comparison.h"
#include "runtime/executor/executor.h"
#include "runtime/op_by_op.h"
#include "runtime/parameter_file.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/comparisons/network_forms.h"
#include "tests/testing/npy.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

using executor::Executor;
using ::testing::IsEmpty;

struct Case {
  const char* name;
  const char* folder;
  const char* program;
  const char* parameters;
  const char* input;              // in the folder
  std::vector<std::string> ties;  // "conv2d_0.tmp_0.quantized: 2", elements that differ
};

// An export has the ranges of its weights from before the last step. Freeze takes those of the
// weights as they are, which training would find in the next one.
void TakeRangesOfWeights(Program* simulated) {
  Rewriter rewriter(simulated, "test");
  for (const Op& op : simulated->block(0).ops()) {
    if (op.type() == "fake_channel_wise_quantize_abs_max") {
      rewriter.SetAttr(op, MakeBoolAttr("is_test", false));
    }
  }
  simulated->ForgetEdits();
}

class ReferencePrograms : public testing::TestWithParam<Case> {
 protected:
  static std::string Path(const char* file) {
    return ReferencePath(absl::StrCat("models/", GetParam().folder, "/", file));
  }
};

TEST_P(ReferencePrograms, DifferAtTiesAlone) {
  SKIP_WITHOUT_REFERENCE_DATA();
  auto loaded = LoadProgram(Path(GetParam().program));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const auto program = Program::Create(std::move(loaded->program), GetParam().name);
  ASSERT_TRUE(program.ok()) << program.status();
  auto parameters = LoadParameters(program->Proto(), Path(GetParam().parameters));
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  const auto made =
      MakeForms(*program, *std::move(parameters), FedVariables(*program).front()->name(),
                {std::string(FetchedVariables(*program).front()->name())});
  ASSERT_TRUE(made.ok()) << made.status();
  NetworkForms& forms = **made;
  TakeRangesOfWeights(&forms.simulated);

  const Program& portable = forms.portable.program;
  const OpByOpProgram lowered = MakeOpByOp(forms.lowered.program, portable);
  const auto simulation = Executor::Create(forms.simulated, &forms.trained);
  const auto frozen = Executor::Create(portable, &forms.portable.scope);
  const auto integers = Executor::Create(lowered.program, &forms.lowered.scope);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  ASSERT_TRUE(integers.ok()) << integers.status();
  auto portable_beside_simulated = Comparison::Create(
      {&portable, frozen->get(), &forms.portable.scope, /*in_one_run=*/true},
      {&forms.simulated, simulation->get(), &forms.trained, /*in_one_run=*/true});
  auto lowered_beside_portable =
      Comparison::Create({&lowered.program, integers->get(), &forms.lowered.scope,
                          /*in_one_run=*/true, lowered.given},
                         {&portable, frozen->get(), &forms.portable.scope, /*in_one_run=*/true});
  ASSERT_TRUE(portable_beside_simulated.ok() && lowered_beside_portable.ok());
  const Tensor images = LoadNpyOrDie(Path(GetParam().input));
  const Feed feeds[] = {{forms.image, &images}};
  ASSERT_EQ(portable_beside_simulated->Run(feeds), absl::OkStatus());
  ASSERT_EQ(lowered_beside_portable->Run(feeds), absl::OkStatus());

  EXPECT_EQ(portable_beside_simulated->different(), 0);
  EXPECT_EQ(portable_beside_simulated->other_zeros(), 0);
  EXPECT_EQ(lowered_beside_portable->other_zeros(), 0);
  std::vector<std::string> ties;
  for (const ComparedVariable& variable : lowered_beside_portable->variables()) {
    EXPECT_EQ(variable.different, variable.ties) << variable.name;
    if (variable.ties > 0) ties.push_back(absl::StrCat(variable.name, ": ", variable.ties));
  }
  EXPECT_EQ(ties, GetParam().ties);
  const auto differences = CompareRunsOfLowered(forms, images, Fetching::kAllInOneRun);
  ASSERT_TRUE(differences.ok()) << differences.status();
  EXPECT_THAT(*differences, IsEmpty());

  const auto simulated_scores = ScoresOf(forms, forms.simulated, &forms.trained, images);
  const auto portable_scores = ScoresOf(forms, portable, &forms.portable.scope, images);
  const auto scores = ScoresOf(forms, forms.lowered.program, &forms.lowered.scope, images);
  ASSERT_TRUE(simulated_scores.ok() && portable_scores.ok() && scores.ok());
  EXPECT_EQ(*portable_scores, *simulated_scores);
  EXPECT_EQ(*scores, *portable_scores);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, ReferencePrograms,
    testing::Values(
        Case{"SlimClassifier",
             "with_params/ch_ppocr_mobile_v2.0_cls_slim",
             "inference.pdmodel.gz",
             "inference.pdiparams",
             "input_x.npy",
             {"x.quantized: 1"}},
        Case{"LeNet",
             "generated/paddle262_frozen/lenet-moving_average_abs_max-abs_max",
             "qat_inference/inference.pdmodel",
             "qat_inference/inference.pdiparams",
             "input_image.npy",
             {}},
        Case{"LeNetPerChannel",
             "generated/paddle262_frozen/lenet-moving_average_abs_max-channel_wise_abs_max",
             "qat_inference/inference.pdmodel",
             "qat_inference/inference.pdiparams",
             "input_image.npy",
             {}},
        Case{"DigitsOfRelease1",
             "generated/fluid185_frozen/digits_conv-range_abs_max",
             "qat_inference/__model__",
             "qat_inference/__params__",
             "input_img.npy",
             {}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fixpoint
