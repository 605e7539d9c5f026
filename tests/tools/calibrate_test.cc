// calibrate as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/npy.h"
#include "runtime/tensor.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// no_ink is the same for all images.
constexpr char kProgram[] = R"(var image f32[-1,784]
var w f32[784,2] persistable
var y f32[-1,2]
var scores f32[-1,2]
var no_ink f32[-1,2]
mul(X=image, Y=w) -> (Out=y)
scale(X=y) -> (Out=no_ink) {scale=0.0}
elementwise_add(X=y, Y=no_ink) -> (Out=scores)
)";

// A file of one tensor FP32 [784,2], all elements 0.5.
std::string Weights() {
  std::string file =
      std::string(16, '\0') + std::string("\x07\0\0\0\x08\x05\x10\x90\x06\x10\x02", 11);
  for (int i = 0; i < 784 * 2; ++i) file += std::string("\0\0\0\x3f", 4);
  return file;
}

class Calibrate : public testing::Test {
 protected:
  Calibrate() {
    folder_.Write("net.txt", kProgram);
    folder_.Write("params/w", Weights());
  }

  // With parameters and scores, where the arguments do not name them.
  BinaryRun Run(std::vector<std::string> arguments, RunBinaryOptions options = {}) const {
    options.callers_directory = folder_.Path();
    for (const char* name : {"params", "scores"}) {
      const std::string flag = absl::StrCat("--", name, "=");
      const bool is_given = std::any_of(
          arguments.begin(), arguments.end(),
          [&flag](const std::string& argument) { return absl::StartsWith(argument, flag); });
      if (!is_given) arguments.push_back(flag + name);
    }
    arguments.push_back("net.txt");
    return RunBinary("tools/calibrate", arguments, options);
  }

  // The profile of a run that has no error.
  std::string Profile(std::vector<std::string> arguments) const {
    arguments.push_back("--output=p");
    arguments.push_back("--data=digits:100");
    const BinaryRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return folder_.Read("p");
  }

  TemporaryFolder folder_;
};

TEST_F(Calibrate, WritesAProfile) {
  const BinaryRun run = Run({"--data=digits:100", "--samples=40", "--output=p.profile"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "variables 3, samples 40\nwrote p.profile\n");
  EXPECT_EQ(run.err,
            "net.txt: variables with the same value in all samples: 1, the first is no_ink\n");
  const std::string profile = folder_.Read("p.profile");
  EXPECT_THAT(profile, StartsWith("entries {\n  variable: \"image\"\n  min: 0\n  max: 1\n"
                                  "  samples: 40\n  count: 31360\n"));
  EXPECT_THAT(profile, HasSubstr("  data: \"digits:100\"\n"));
  EXPECT_THAT(folder_.Files(), ElementsAre("net.txt", "p.profile", "params/w"));
}

TEST_F(Calibrate, GivesTheSameBytesForAnyThreadsAndBatches) {
  const std::string expected = Profile({"--samples=20"});
  for (const char* threads : {"1", "2"}) {
    for (const char* batch_size : {"1", "7", "64"}) {
      EXPECT_EQ(Profile({"--samples=20", absl::StrCat("--threads=", threads),
                         absl::StrCat("--batch_size=", batch_size)}),
                expected)
          << threads << " threads, " << batch_size << " at a time";
    }
  }
  EXPECT_NE(Profile({"--samples=20", "--seed=1"}), expected) << "other samples";
}

TEST_F(Calibrate, TellsWhenThereAreFewSamples) {
  EXPECT_THAT(Run({"--data=digits:10", "--samples=1", "--output=p"}).err,
              HasSubstr("only 1 sample: the ranges of others may be larger"));
  const BinaryRun run = Run({"--data=digits:10", "--output=p"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("samples 10\n")) << "all that there are";
  EXPECT_THAT(run.err, HasSubstr("only 10 samples"));
}

TEST_F(Calibrate, FollowsOutputsThatAConfigurationMayObserve) {
  EXPECT_THAT(Profile({"--samples=2"}), Not(HasSubstr("\"scores\"")));
  EXPECT_THAT(Profile({"--samples=2", "--outputs"}), HasSubstr("\"scores\""));
}

TEST_F(Calibrate, ResumesWhatWasSaved) {
  const std::string expected = Profile({"--samples=20"});
  const std::string part = Profile({"--samples=8"});
  folder_.Write("p.partial", part);
  EXPECT_EQ(Profile({"--samples=20", "--resume"}), expected);
  EXPECT_THAT(folder_.Files(), Not(Contains("p.partial")));
  EXPECT_EQ(Profile({"--samples=20", "--resume"}), expected) << "nothing is saved";

  folder_.Write("p.partial", part);
  const BinaryRun other_seed =
      Run({"--data=digits:100", "--seed=3", "--resume", "--samples=20", "--output=p"});
  EXPECT_EQ(other_seed.exit_code, 3);
  EXPECT_THAT(other_seed.err, HasSubstr("p.partial: was saved by a run with another seed"));
  const BinaryRun other_data = Run({"--data=digits:50", "--resume", "--samples=20", "--output=p"});
  EXPECT_EQ(other_data.exit_code, 3);
  EXPECT_THAT(other_data.err, HasSubstr("p.partial: was saved by a run with other data; "));
  folder_.Write("other/w", Weights().replace(27, 4, std::string("\0\0\0\x40", 4)));
  const BinaryRun other_parameters =
      Run({"--data=digits:100", "--params=other", "--resume", "--samples=20", "--output=p"});
  EXPECT_EQ(other_parameters.exit_code, 3);
  EXPECT_THAT(other_parameters.err,
              HasSubstr("p.partial: was saved by a run with other parameters; "));
}

struct Wrong {
  std::vector<std::string> arguments;
  int exit_code;
  std::string message;
};

TEST_F(Calibrate, SaysWhatIsWrongAndWritesNothing) {
  folder_.Write("nan/w", Weights().replace(27, 4, std::string("\0\0\xc0\x7f", 4)));
  folder_.Write("other/w", Weights().substr(0, 100));
  const std::vector<std::string> before = folder_.Files();
  const std::vector<Wrong> cases = {
      {{"--output=p"}, 2, "want samples: --data="},
      {{"--data=digits:10"}, 2, "want an output: --output=FILE"},
      {{"--data=digits:10", "--output=p", "--samples=0"}, 2, "--samples"},
      {{"--data=nothing:x", "--output=p"}, 2, "--data"},
      {{"--data=mnist:nowhere", "--output=p"}, 3, "nowhere"},
      {{"--data=digits:10", "--output=p", "--images=picture"}, 2, "no variable \"picture\""},
      {{"--data=digits:10", "--output=p", "--scores=result"}, 2, "no variable \"result\""},
      {{"--data=digits:10", "--output=p", "--images=y"}, 3, "y"},
      {{"--data=digits:10", "--output=params/w"}, 2, "would replace the input params/w"},
      {{"--data=digits:10", "--output=p", "--params=nan"}, 3, "\"y\" has a NaN; want numbers"},
      {{"--data=digits:10", "--output=p", "--params=other"}, 3, "other/w"},
      {{"--data=digits:10", "--output=p", "--params=missing"}, 3, "missing"},
      {{"--data=digits:10", "--output=nowhere/p"}, 5, "nowhere/p: cannot be written"},
      {{"--data=digits:10", "--output=-", "--resume"}, 2, "--resume"},
  };
  for (const Wrong& c : cases) {
    const BinaryRun run = Run(c.arguments);
    EXPECT_EQ(run.exit_code, c.exit_code) << c.message << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.message));
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(folder_.Files(), before) << c.message;
  }
}

// Images and labels are not all that a program may be fed.
TEST_F(Calibrate, TakesScoresWhereSeveralInputsAreFed) {
  folder_.Write("net.txt", R"(var a f32[-1,2]
var b f32[-1,2]
var scores f32[-1,2]
elementwise_add(X=a, Y=b) -> (Out=scores)
)");
  for (const char* input : {"a", "b"}) {
    const auto array = NpyBytes(Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4}));
    ASSERT_TRUE(array.ok()) << array.status();
    folder_.Write(absl::StrCat(input, ".npy"), *array);
  }
  const BinaryRun run = Run({"--data=npy:a=a.npy,b=b.npy", "--outputs", "--output=p"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(folder_.Read("p"), HasSubstr("\"scores\""));
}

TEST_F(Calibrate, AFullDiskLeavesNothingHalfWritten) {
  RunBinaryOptions options;
  options.largest_file = 100;
  const std::vector<std::string> before = folder_.Files();
  const BinaryRun run = Run({"--data=digits:10", "--output=p"}, options);
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.err, "calibrate: p: cannot be written: File too large\n");
  EXPECT_EQ(folder_.Files(), before);
}

}  // namespace
}  // namespace fixpoint
