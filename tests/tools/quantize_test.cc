// quantize as a user runs it: what it writes, and that all that it writes agrees.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/run_binary.h"
#include "tests/tools/quantize_fixture.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(QuantizeTool, WritesAFolderWithAllForms) {
  const BinaryRun run = Run({});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("computed on integers: 6 of 6 ops (100 %)\n"));
  EXPECT_THAT(run.out, HasSubstr("simulated, portable and lowered programs agree to the bit: "));
  EXPECT_THAT(run.out, HasSubstr("signal to noise ratio of y: "));
  EXPECT_THAT(run.out, HasSubstr("wrote out\n"));
  EXPECT_THAT(FilesOf("out"), ElementsAre("config.textproto", "lowered.pdiparams",
                                          "lowered.pdmodel", "plan.textproto", "portable.pdiparams",
                                          "portable.pdmodel", "profile.textproto"));
  EXPECT_EQ(folder_.Read("out/config.textproto"), "target: \"onednn_int8\"\n");
}

TEST_F(QuantizeTool, GivesTheSameBytesForAnyThreadsAndBatches) {
  ASSERT_EQ(Run({}).exit_code, 0);
  ASSERT_EQ(Run({"--threads=2", "--batch_size=7", "--output=other"}).exit_code, 0);
  for (const std::string& file : FilesOf("out")) {
    EXPECT_TRUE(folder_.Read("out/" + file) == folder_.Read("other/" + file)) << file;
  }
}

TEST_F(QuantizeTool, ItsConfigurationGivesTheSameAgain) {
  folder_.Write("config.textproto",
                "activations { range_rule: MSE }\n"
                "rules { op_type: \"conv2d\" skip: true }\n");
  ASSERT_EQ(Run({"--config=config.textproto"}).exit_code, 0);
  ASSERT_EQ(Run({"--config=out/config.textproto", "--output=other"}).exit_code, 0);
  for (const std::string& file : FilesOf("out")) {
    EXPECT_TRUE(folder_.Read("out/" + file) == folder_.Read("other/" + file)) << file;
  }
}

TEST_F(QuantizeTool, MeasuresInFloatAndOnIntegers) {
  EXPECT_THAT(Run({"--metric=accuracy"}).out,
              HasSubstr("accuracy: 100.0000 in float, 100.0000 on integers, on 40 samples\n"));
  EXPECT_THAT(Run({"--metric=-mean"}).out, HasSubstr("-mean: "));
  EXPECT_THAT(Run({"--metric=accuracy", "--eval_data=npz:few.npz"}).out,
              HasSubstr("on integers, on 3 samples\n"));
}

TEST_F(QuantizeTool, TheFormsRun) {
  ASSERT_EQ(Run({}).exit_code, 0);
  for (const std::string form : {"portable", "lowered"}) {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    const BinaryRun run =
        RunBinary("tools/infer",
                  {absl::StrCat("out/", form, ".pdmodel"),
                   absl::StrCat("--params=out/", form, ".pdiparams"), "--data=npz:samples.npz"},
                  options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, "samples 40, accuracy 1.0000\n");
  }
}

TEST_F(QuantizeTool, TiesThatIntegersRoundInAnotherWayAreToldAndNoError) {
  const BinaryRun run = Run({"--target=paddle_2_6"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("quantizers that round ties away from zero"));
}

TEST_F(QuantizeTool, RefusesCodesOfMoreThanAByte) {
  folder_.Write("config.textproto", "target: \"paddle_2_6\" weights { bits: 16 }\n");
  const BinaryRun run = Run({"--config=config.textproto"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("bits"));
  EXPECT_THAT(FilesOf("out"), ElementsAre());
}

}  // namespace
}  // namespace fixpoint
