// Ten ways to get quantize wrong: a clear message, or a result with a note, and nothing half
// written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_replace.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/run_binary.h"
#include "tests/tools/quantize_fixture.h"

namespace fixpoint {
namespace {

using ::testing::HasSubstr;

class QuantizeWrong : public QuantizeTool {
 protected:
  // The run is refused with that exit code and a message that says so, and no file is new.
  void ExpectRefused(const std::vector<std::string>& arguments, int exit_code,
                     const std::string& message, const RunBinaryOptions& options = {}) const {
    const std::vector<std::string> before = folder_.Files();
    const BinaryRun run = Run(arguments, options);
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(folder_.Files(), before);
  }

  // The result is whole, with a note.
  void ExpectNoted(const std::vector<std::string>& arguments, const std::string& note) const {
    const BinaryRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr(note));
    EXPECT_THAT(run.out, HasSubstr("programs agree to the bit"));
    EXPECT_EQ(FilesOf("out").size(), 9U);
  }

  static Tensor& Of(Scope& scope, const char* name) {
    return std::get<Tensor>(*scope.FindOrNull(name));
  }
};

TEST_F(QuantizeWrong, NoData) {
  ExpectRefused({"--data="}, 2, "want samples: --data=");
  ExpectRefused({"--data=npz:nowhere.npz"}, 3, "nowhere.npz: cannot be read: No such file");
  SaveSamples("none.npz", Samples(0));
  ExpectRefused({"--data=npz:none.npz"}, 3, "none.npz");
}

TEST_F(QuantizeWrong, AFeedOfAnotherName) {
  Scope samples;
  samples.Set("picture", Wave({4, 2, 6, 6}, 1, 0.3));
  SaveSamples("picture.npz", samples);
  ExpectRefused({"--data=npz:picture.npz"}, 3, "\"picture\"");
}

TEST_F(QuantizeWrong, ANaNInTheData) {
  Scope samples = Samples(5);
  Of(samples, "x").mutable_data<float>()[3 * 72 + 7] = std::nanf("");
  SaveSamples("nan.npz", samples);
  ExpectRefused({"--data=npz:nan.npz"}, 3, "sample 3");
  ExpectRefused({"--eval_data=npz:nan.npz", "--metric=-mean"}, 3, "nan.npz: sample 3");
}

TEST_F(QuantizeWrong, OneSample) {
  ExpectNoted({"--samples=1"}, "net.txt: only 1 sample: the ranges of others may be larger\n");
}

TEST_F(QuantizeWrong, ConstantActivations) {
  Scope samples = Samples(40);
  for (float& value : Of(samples, "x").mutable_data<float>()) value = 0;
  SaveSamples("zero.npz", samples);
  ExpectNoted({"--data=npz:zero.npz"},
              "net.txt: variables with the same value in all samples: 1, the first is x\n");
}

TEST_F(QuantizeWrong, DeadChannels) {
  Scope parameters = Parameters();
  for (int i = 18; i < 36; ++i) Of(parameters, "w").mutable_data<float>()[i] = 0;
  Of(parameters, "g").mutable_data<float>()[2] = 0;
  SaveNet("dead", parameters);
  ExpectNoted({"--params=dead"},
              "net.txt: channels of weights that are 0 throughout: 1, the first in w\n");
}

TEST_F(QuantizeWrong, ANegativeVariance) {
  Scope parameters = Parameters();
  Of(parameters, "v").mutable_data<float>()[2] = -0.5F;
  SaveNet("negative", parameters);
  ExpectRefused({"--params=negative"}, 3, "variance \"v\" has -0.5 at channel 2");
}

TEST_F(QuantizeWrong, ParametersOfAnotherNetwork) {
  Scope parameters = Parameters();
  parameters.Set("u", Wave({64, 5}, 1, 1));
  folder_.Write("wide.txt", absl::StrReplaceAll(
                                kNet, {{"u f32[64,3]", "u f32[64,5]"}, {"b f32[3]", "b f32[5]"}}));
  parameters.Set("b", Wave({5}, 1, 1));
  SaveParametersOf("wide.txt", "wide", parameters);
  ExpectRefused({"--params=wide"}, 3, "[3]");
}

TEST_F(QuantizeWrong, AMetricThatIsNotThere) {
  ExpectRefused({"--metric=acuracy"}, 3,
                "the metric \"acuracy\" is no variable of the program; want accuracy, loss or a "
                "variable; did you mean accuracy?");
  ExpectRefused({"--metric=loss"}, 3,
                "the metric loss: which variable is the loss is not known; want --loss=NAME");
  ExpectRefused({"--metric=mean", "--loss=mean"}, 3,
                "the metric \"mean\" is the loss of the program, of which less is better; want "
                "\"loss\" or \"-mean\"");
  ExpectRefused({"--metric=y"}, 3, "the metric \"y\" is FP32");
  Scope samples;
  samples.Set("x", Wave({4, 2, 6, 6}, 1, 0.3));
  SaveSamples("unlabelled.npz", samples);
  ExpectRefused({"--data=npz:unlabelled.npz", "--metric=accuracy"}, 3,
                "the metric accuracy: the samples have no labels");
}

TEST_F(QuantizeWrong, AFullDisk) {
  RunBinaryOptions options;
  options.largest_file = 500;
  ExpectRefused({}, 5, "out/portable.pdmodel: cannot be written: File too large", options);
  ExpectRefused({"--output=nowhere/out"}, 5, "nowhere/out: cannot be written");
  folder_.Write("file", "");
  ExpectRefused({"--output=file"}, 5, "file: cannot be written: Not a directory");
}

}  // namespace
}  // namespace fixpoint
