// What train refuses, and what it says then.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tests/testing/reference_data.h"
#include "tests/testing/run_binary.h"
#include "tests/tools/train_fixture.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST_F(Train, NamesThatCannotBeFilesAreToldBeforeTraining) {
  for (const char* file : {"mlp.txt", "mlp.startup.txt"}) {
    folder_.Write(file, absl::StrReplaceAll(folder_.Read(file), {{"fc_0.b_0", "in/../../evil"}}));
  }
  const BinaryRun run = Run({"--steps=2", "--save=params", "--metrics=m.jsonl"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(run.err,
            "train: mlp.txt: variable \"in/../../evil\": the name cannot be that of a file in the "
            "folder; "
            "use a combined parameter file\n");
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(folder_.Files(), ElementsAre("mlp.startup.txt", "mlp.txt"));
}

TEST_F(Train, AFolderWhereAParameterGoesIsToldBeforeTraining) {
  folder_.Write("params/fc_0.w_0/older", "");
  const BinaryRun run = Run({"--steps=2", "--metrics=metrics", "--save=params"});
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "train: params/fc_0.w_0: cannot be written: Is a directory\n");
  EXPECT_THAT(folder_.Files(), ElementsAre("mlp.startup.txt", "mlp.txt", "params/fc_0.w_0/older"));
}

TEST_F(Train, AParameterThatNobodyGivesAValueIsToldBeforeTraining) {
  folder_.Write("mlp.txt",
                absl::StrReplaceAll(folder_.Read("mlp.txt"), {{"  var fc_0.b_0 ",
                                                               "  var lost f32[1] persistable\n"
                                                               "  var fc_0.b_0 "}}));
  const BinaryRun run = Run({"--steps=2", "--save=params"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(run.err,
            "train: mlp.txt: parameter \"lost\" is not initialised by mlp.startup.txt and "
            "not written by the program; without a value it cannot be saved\n");
  EXPECT_EQ(Run({"--steps=2"}).exit_code, 0);
}

TEST_F(Train, AClosedStandardOutputIsToldBeforeTraining) {
  RunBinaryOptions options;
  options.callers_directory = folder_.Path();
  options.output = "closed";
  const BinaryRun run = RunBinary("tools/train",
                                  {"mlp.txt", "--startup=mlp.startup.txt", "--data=digits:100",
                                   "--steps=2", "--metrics=m.jsonl", "--save=params"},
                                  options);
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.err,
            "train: standard output: cannot be written: it is closed, or open for reading only\n");
  EXPECT_THAT(folder_.Files(), ElementsAre("mlp.startup.txt", "mlp.txt"));
}

// A disk that is full after so many bytes of a file.
TEST_F(Train, WhatDoesNotFitOnTheDiskIsNotHalfWritten) {
  RunBinaryOptions options;
  options.callers_directory = folder_.Path();
  const struct {
    int64_t bytes;
    std::vector<std::string> flags;
    std::string what;
    std::vector<std::string> left;
  } kCases[] = {
      {90, {"--metrics=m.jsonl"}, "m.jsonl", {"m.jsonl"}},
      {20, {"--metrics=m.jsonl"}, "m.jsonl", {}},
      {300, {"--save=params"}, "params", {}},
      {300, {"--dump=image", "--dump_output=x.npz"}, "x.npz", {}},
      {300, {"--checkpoint_dir=run"}, "run/step-2", {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.flags[0]);
    std::vector<std::string> arguments = {"mlp.txt", "--startup=mlp.startup.txt",
                                          "--data=digits:100", "--steps=2"};
    arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
    options.largest_file = c.bytes;
    const BinaryRun run = RunBinary("tools/train", arguments, options);
    EXPECT_EQ(run.exit_code, 5);
    std::vector<std::string> files = {"mlp.startup.txt", "mlp.txt"};
    files.insert(files.begin(), c.left.begin(), c.left.end());
    std::sort(files.begin(), files.end());
    EXPECT_EQ(folder_.Files(), files);
    for (const std::string& file : c.left) {
      EXPECT_THAT(folder_.Read(file), EndsWith("}\n"));
      std::filesystem::remove(folder_.Path(file));
    }
  }
}

TEST_F(Train, AStartupProgramOfBeforeTheProgramWasQuantizedDoesNotFit) {
  RunBinaryOptions here;
  here.callers_directory = folder_.Path();
  const auto quantize = [&](const std::vector<std::string>& arguments) {
    return RunBinary("tools/transpile", arguments, here).exit_code;
  };
  ASSERT_EQ(quantize({"--output=q.txt", "--startup_output=q.startup.txt", "mlp.txt"}), 0);
  const auto train = [&](const std::string& startup) {
    return RunBinary("tools/train", {"q.txt", "--startup=" + startup, "--data=digits:10"}, here);
  };
  BinaryRun run = train("mlp.startup.txt");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err,
              EndsWith("; mlp.startup.txt initialises 9 of the 17 persistable variables, "
                       "and not fc_0.w_0@scale, fc_1.w_0@scale, image@accum and "
                       "5 more: does it belong to another program, or to this one before it was "
                       "quantized?\n"));
  folder_.Write("mlp.startup.quantized.txt",
                "var v f32[1] persistable\nfill_constant() -> (Out=v) {shape=[1L], dtype=5, "
                "value=0.0}\n");
  EXPECT_THAT(train("mlp.startup.txt").err, EndsWith("before it was quantized?\n"));
  ASSERT_EQ(quantize({"--output=q.txt", "--startup=mlp.startup.txt", "mlp.txt"}), 0);
  EXPECT_THAT(train("mlp.startup.txt").err,
              EndsWith("before it was quantized? There is mlp.startup.quantized.txt\n"));
  EXPECT_EQ(train("mlp.startup.quantized.txt").exit_code, 0);
}

// What runs on integers is refused as the program of floats is.
TEST_F(Train, ABiasOfAnotherSizeIsNamed) {
  for (const char* file : {"mlp.txt", "mlp.startup.txt"}) {
    folder_.Write(file, absl::StrReplaceAll(folder_.Read(file),
                                            {{"fc_1.b_0 f32[10]", "fc_1.b_0 f32[12]"},
                                             {"fc_1.b_0@GRAD f32[10]", "fc_1.b_0@GRAD f32[12]"},
                                             {"velocity_0 f32[10]", "velocity_0 f32[12]"},
                                             {"shape=[10L]", "shape=[12L]"}}));
  }
  BinaryRun run = Run({"--steps=2"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err,
            "train: mlp.txt: step 1: block 0, op 4 (elementwise_add): X [20, 10] and Y [12] do not "
            "broadcast: want equal dimensions or 1, got 10 and 12\n");

  folder_.Write("int32.textproto", ReadFileOrDie("examples/int32_bias.textproto"));
  RunBinaryOptions here;
  here.callers_directory = folder_.Path();
  run = RunBinary("tools/transpile",
                  {"--target=int32.textproto", "--startup=mlp.startup.txt",
                   "--startup_output=q.startup.txt", "--output=q.txt", "mlp.txt"},
                  here);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* backend : {"onednn", "reference"}) {
    run = RunBinary("tools/train",
                    {"q.txt", "--startup=q.startup.txt", "--data=digits:20",
                     absl::StrCat("--backend=", backend)},
                    here);
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_THAT(run.err,
                MatchesRegex("train: q.txt: step 1: block 0, op [0-9]+ \\(elementwise_add\\): X "
                             "\\[20, 10\\] and Y \\[12\\] do not broadcast: .*\n"));
  }
}

TEST_F(Train, AProgramThatIsFedIsNoStartupProgram) {
  RunBinaryOptions here;
  here.callers_directory = folder_.Path();
  const BinaryRun run =
      RunBinary("tools/train", {"mlp.txt", "--startup=mlp.txt", "--data=digits:10"}, here);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(
      run.err,
      "train: mlp.txt: is fed image, label, which a startup program never is; want the one that "
      "initialises mlp.txt\n");
}

TEST_F(Train, WhatIsWrongIsToldByExitCode) {
  ASSERT_EQ(Run({"--steps=1", "--checkpoint_dir=run"}).exit_code, 0);
  folder_.Write("file", "");
  struct Case {
    std::vector<std::string> flags;
    int exit_code;
    std::string error;
  };
  const std::vector<Case> cases = {
      {{"--steps=0"}, 2, "--steps=0; want 1 or more"},
      {{"--steps=1", "--epochs=1"}, 2, "--steps and --epochs both say how long to train"},
      {{"--epochs=4000000000"}, 2, "a run has at most 4294967294 steps; ask for fewer"},
      {{"--threads=0"}, 2, "--threads=0; want 1 to 1024"},
      {{"--threads=200000"}, 2, "--threads=200000; want 1 to 1024"},
      {{"--max_iterations=0"}, 2, "--max_iterations=0; want 1 or more"},
      {{"--backend=gpu"},
       2,
       "--backend: no backend is called \"gpu\"; there are onednn, reference"},
      {{"--backward=f16"}, 2, "--backward: no precision is called \"f16\"; there are f32, bf16"},
      {{"--backward=bf16", "--backend=reference"},
       4,
       "--backward=bf16: the backend reference has no backward pass in bf16; want f32, or the "
       "backend onednn"},
      {{"--dump=loss"}, 2, "--dump says what to write and --dump_output where; want both or none"},
      {{"--dump=fc_0.w", "--dump_output=x.npz"},
       2,
       "--dump: block 0 of mlp.txt has no variable \"fc_0.w\"; did you mean fc_0.w_0?"},
      {{"--resume"}, 2, "--resume needs a folder: --checkpoint_dir=FOLDER"},
      {{"--checkpoint_dir=run"},
       2,
       "--checkpoint_dir=run has checkpoints of a run; continue it (--resume) or name another "
       "folder"},
      {{"--save=mlp.txt"}, 2, "would replace the input"},
      {{"--images=label"},
       3,
       "mlp.txt: samples of \"images\" are fed as [-1, 1, 28, 28]; the program declares \"label\" "
       "as [-1, 1]"},
      {{"--images=pixels"}, 2, "--images: block 0 of mlp.txt has no variable \"pixels\""},
      {{"--eval_program=none.txt"}, 3, "none.txt: cannot be read"},
      {{"--eval_program=mlp.txt"},
       4,
       "mlp.txt: block 0, op 7 (fill_constant) is an op of training; want a test program"},
      {{"--checkpoint_dir=run", "--resume", "--steps=1", "--dump=image", "--dump_output=x.npz"},
       2,
       "--dump: all steps are done, and none is left to dump; ask for more"},
      {{"--checkpoint_dir=run", "--resume", "--seed=5"},
       3,
       "run/step-1: belongs to a run with seed 0, and this one has 5; want the same"},
      {{"--eval_data=npy:x"}, 2, "--eval_data: \"npy:x\" has \"x\"; want npy:NAME=FILE,NAME=FILE"},
      {{"--checkpoint_dir=run", "--resume", "--augment_padding=2"},
       3,
       "run/step-1: belongs to a run with images padded by 0, and this one has 2; want the same"},
      {{"--augment_padding=-1"}, 2, "--augment_padding=-1; want 0 or more"},
      {{"--params=nowhere"}, 3, "nowhere: cannot be opened"},
      {{"--save=nowhere/params"}, 5, "nowhere/params: cannot be written"},
      {{"--checkpoint_dir=file/run"}, 5, "file/run: cannot be written"},
      {{"--metrics=nowhere/m.jsonl"}, 5, "nowhere/m.jsonl: cannot be written"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(absl::StrJoin(c.flags, " "));
    const BinaryRun run = Run(c.flags);
    EXPECT_EQ(run.exit_code, c.exit_code);
    EXPECT_THAT(run.err, HasSubstr(c.error));
  }
}

TEST_F(Train, ALossThatIsNotFiniteEndsWithTheOpThatMadeIt) {
  const std::string startup = folder_.Read("mlp.startup.txt");
  folder_.Write("mlp.startup.txt",
                absl::StrReplaceAll(startup, {{"value=0.1, force_cpu=false, str_value=\"0.1\"",
                                               "value=1e38, str_value=\"1e38\""}}));
  const BinaryRun run = Run({"--steps=20", "--save=params"});
  EXPECT_EQ(run.exit_code, 4) << run.out;
  EXPECT_THAT(run.err, MatchesRegex("train: mlp.txt: step [0-9]+: the loss \"mean_0.tmp_0\" is .*; "
                                    "the first value that is not finite is in .*step.*: block 0, "
                                    "op [0-9]+ \\(.*\\): element .*\n"));
  EXPECT_THAT(folder_.Files(), ElementsAre("mlp.startup.txt", "mlp.txt"));
}

}  // namespace
}  // namespace fixpoint
