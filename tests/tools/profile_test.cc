// inspect profile as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 1000 zeros, 999 times 1 and once 8.
constexpr char kProfile[] = R"(entries {
  variable: "x"
  min: 0
  max: 8
  samples: 2
  count: 2000
  moving_average {
    sum: 4.5
    weight: 1.5
  }
  positive {
    bins: [0, 4064, 4160]
    counts: [1000, 999, 1]
  }
}
entries {
  variable: "y"
  min: -1
  max: 2
}
program_hash: 5
parameters_hash: 6
samples {
  data: "digits"
  data_hash: 7
  ids: [0, 3]
}
)";

class Profile : public testing::Test {
 protected:
  Profile() { folder_.Write("p.profile", kProfile); }

  BinaryRun Run(std::vector<std::string> arguments, RunBinaryOptions options = {}) const {
    options.callers_directory = folder_.Path();
    arguments.insert(arguments.begin(), "profile");
    return RunBinary("tools/inspect", arguments, options);
  }

  // The profile with a text replaced, as a file.
  void WriteEdited(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = kProfile;
    text.replace(text.find(from), from.size(), to);
    folder_.Write(name, text);
  }

  TemporaryFolder folder_;
};

TEST_F(Profile, ShowsWhatEachRuleClips) {
  const BinaryRun run = Run({"p.profile"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(
      run.out,
      "variable        values     average  rule                   min         max    clipped  "
      "      SNR\n"
      "x                 2000           3  min_max                  0           8          -  "
      "  41.2 dB\n"
      "                                    percentile               0           8          -  "
      "  41.2 dB\n"
      "                                    mse                      0           8          -  "
      "  41.2 dB\n"
      "                                    kl                       0           8          -  "
      "  41.2 dB\n"
      "                                    moving_average           0           3   0.0500 %  "
      "  16.4 dB\n"
      "y                    -           -  -                       -1           2          -  "
      "        -\n"
      "2 variables, 2 samples\n");
  const BinaryRun json = Run({"p.profile", "--json", "--bits=4"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr("\"rule\": \"percentile\""));
}

TEST_F(Profile, MergesProfilesOfOtherSamples) {
  WriteEdited("q.profile", "ids: [0, 3]", "ids: [1, 2]");
  const BinaryRun run = Run({"p.profile", "q.profile", "--merge", "--output=m.profile"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "wrote m.profile\n");
  const std::string merged = folder_.Read("m.profile");
  EXPECT_THAT(merged, HasSubstr("counts: [2000, 1998, 2]"));
  EXPECT_THAT(merged, HasSubstr("ids: [0, 3, 1, 2]"));

  const BinaryRun again = Run({"m.profile", "q.profile", "--merge", "--output=n.profile"});
  EXPECT_EQ(again.exit_code, 4);
  EXPECT_EQ(again.err,
            "inspect: q.profile: sample 1 of digits is in a profile before too; want each sample "
            "once\n");
  WriteEdited("r.profile", "program_hash: 5", "program_hash: 9");
  const BinaryRun other = Run({"p.profile", "r.profile", "--merge", "--output=n.profile"});
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.err, HasSubstr("r.profile: was made with other program"));
  EXPECT_THAT(folder_.Files(), Not(::testing::Contains("n.profile")));
}

TEST_F(Profile, ComparesTwo) {
  EXPECT_EQ(Run({"p.profile", "p.profile", "--diff"}).exit_code, 0);
  WriteEdited("q.profile", "max: 2", "max: 3");
  const BinaryRun run = Run({"p.profile", "q.profile", "--diff"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_EQ(run.out, "--- p.profile\n+++ q.profile\n~ y: max 2 and 3\n");
  WriteEdited("r.profile", "counts: [1000, 999, 1]", "counts: [1200, 799, 1]");
  EXPECT_EQ(Run({"p.profile", "r.profile", "--diff"}).out,
            "--- p.profile\n+++ r.profile\n~ x: 10 % of the values distributed otherwise\n");
  folder_.Write("s.profile", "entries { variable: \"z\" min: 0 max: 1 }");
  EXPECT_EQ(Run({"s.profile", "p.profile", "--diff"}).out,
            "--- s.profile\n+++ p.profile\n- z\n+ x\n+ y\n");
}

TEST_F(Profile, SaysWhatIsWrong) {
  EXPECT_THAT(Run({"p.profile", "--merge"}).err, HasSubstr("takes two files or more to merge"));
  EXPECT_THAT(Run({"p.profile", "p.profile"}).err, HasSubstr("takes one file"));
  EXPECT_THAT(Run({"p.profile", "p.profile", "--merge"}).err, HasSubstr("want an output"));
  EXPECT_EQ(Run({"p.profile", "--output=q.profile"}).exit_code, 2);
  EXPECT_EQ(Run({"p.profile", "--bits=16"}).exit_code, 2);
  EXPECT_EQ(Run({"missing.profile"}).exit_code, 3);
  WriteEdited("q.profile", "count: 2000", "count: 1999");
  const BinaryRun run = Run({"q.profile"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err, "inspect: q.profile: \"x\": count is 1999, and its bins have 2000 values\n");
}

// A disk that is full after 100 bytes of a file.
TEST_F(Profile, IsNotHalfWritten) {
  WriteEdited("q.profile", "ids: [0, 3]", "ids: [1, 2]");
  RunBinaryOptions options;
  options.largest_file = 100;
  const std::vector<std::string> before = folder_.Files();
  const BinaryRun run = Run({"p.profile", "q.profile", "--merge", "--output=m.profile"}, options);
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.err, "inspect: m.profile: cannot be written: File too large\n");
  EXPECT_EQ(folder_.Files(), before);
}

}  // namespace
}  // namespace fixpoint
