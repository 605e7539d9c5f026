// What the tests of quantize share: a folder with a float network, its parameters and samples.

#ifndef FIXPOINT_TESTS_TOOLS_QUANTIZE_FIXTURE_H_
#define FIXPOINT_TESTS_TOOLS_QUANTIZE_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "proto/file/atomic_file.h"
#include "proto/program/program.h"
#include "runtime/npz.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/testing/parsed_program.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/saved_parameters.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {

class QuantizeTool : public testing::Test {
 protected:
  // A convolution with batch norm and a fully connected layer, as PaddlePaddle exports them.
  static constexpr char kNet[] = R"(var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,2,6,6]
var w f32[4,2,3,3] persistable
var c f32[-1,4,4,4]
var g f32[4] persistable
var h f32[4] persistable
var m f32[4] persistable
var v f32[4] persistable
var n f32[-1,4,4,4]
var saved_m f32[4]
var saved_v f32[4]
var r f32[-1,4,4,4]
var u f32[64,3] persistable
var p f32[-1,3]
var b f32[3] persistable
var y f32[-1,3]
var mean f32[1]
feed(X=feed) -> (Out=x) {col=0}
conv2d(Input=x, Filter=w) -> (Output=c) {strides=[1,1], paddings=[0,0], dilations=[1,1], groups=1}
batch_norm(X=c, Scale=g, Bias=h, Mean=m, Variance=v) -> (Y=n, MeanOut=m, VarianceOut=v, SavedMean=saved_m, SavedVariance=saved_v) {is_test=true, epsilon=1e-05}
relu(X=n) -> (Out=r)
mul(X=r, Y=u) -> (Out=p) {x_num_col_dims=1, y_num_col_dims=1}
elementwise_add(X=p, Y=b) -> (Out=y) {axis=1}
reduce_mean(X=y) -> (Out=mean) {reduce_all=true}
fetch(X=y) -> (Out=fetch) {col=0}
)";

  QuantizeTool() {
    folder_.Write("net.txt", kNet);
    SaveNet("params", Parameters());
    SaveSamples("samples.npz", Samples(40));
    SaveSamples("few.npz", Samples(3));
  }

  static size_t ElementsOf(const std::vector<int64_t>& dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  }
  // The numbers of a wave, which differ from each other and have both signs.
  static Tensor Wave(const std::vector<int64_t>& dims, double height, double step) {
    std::vector<float> values(ElementsOf(dims));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(height * std::sin(static_cast<double>(i + 1) * step));
    }
    return Tensor::FromValues<float>(dims, values);
  }
  static Scope Parameters() {
    Scope scope;
    scope.Set("w", Wave({4, 2, 3, 3}, 0.5, 0.7));
    scope.Set("g", Wave({4}, 1, 1.1));
    scope.Set("h", Wave({4}, 0.3, 0.4));
    scope.Set("m", Wave({4}, 0.1, 2));
    scope.Set("v", Tensor::FromValues<float>({4}, {0.8F, 0.7F, 0.9F, 1.2F}));
    scope.Set("u", Wave({64, 3}, 0.4, 1.3));
    scope.Set("b", Tensor::FromValues<float>({3}, {9, 0.5, -0.25}));  // the answer is always 0
    return scope;
  }
  void SaveNet(const std::string& name, const Scope& parameters) const {
    SaveParametersOf("net.txt", name, parameters);
  }
  void SaveParametersOf(const std::string& net, const std::string& name,
                        const Scope& parameters) const {
    const Program program = ParsedProgram(folder_.Read(net));
    const absl::Status saved =
        SaveSeparateParameters(program.Proto(), parameters, folder_.Path(name));
    ASSERT_TRUE(saved.ok()) << saved;
  }

  // Samples with the label 0.
  static Scope Samples(int64_t count) {
    Scope scope;
    scope.Set("x", Wave({count, 2, 6, 6}, 1.5, 0.37));
    scope.Set("labels", Tensor::FromValues<int64_t>({count, 1}, std::vector<int64_t>(count)));
    return scope;
  }
  void SaveSamples(const std::string& name, const Scope& samples) const {
    absl::StatusOr<AtomicFile> file = StageNpz(samples, folder_.Path(name));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Commit().ok());
  }

  // With program, parameters, data and output, where the arguments do not name them, and without
  // times.
  BinaryRun Run(std::vector<std::string> arguments, RunBinaryOptions options = {}) const {
    options.callers_directory = folder_.Path();
    const std::pair<std::string, std::string> defaults[] = {
        {"--params=", "params"}, {"--data=", "npz:samples.npz"}, {"--output=", "out"}};
    for (const auto& [flag, value] : defaults) {
      const bool is_given = std::any_of(
          arguments.begin(), arguments.end(),
          [&flag = flag](const std::string& given) { return absl::StartsWith(given, flag); });
      if (!is_given) arguments.push_back(flag + value);
    }
    arguments.emplace_back("--notimes");
    arguments.emplace_back("net.txt");
    return RunBinary("tools/quantize", arguments, options);
  }

  // The files of a folder in the folder, sorted.
  std::vector<std::string> FilesOf(const std::string& name) const {
    std::vector<std::string> files;
    for (const std::string& file : folder_.Files()) {
      absl::string_view rest = file;
      if (absl::ConsumePrefix(&rest, name + "/")) files.emplace_back(rest);
    }
    return files;
  }

  // That two folders have the same files, to the byte.
  void ExpectSame(const std::string& name, const std::string& other) const {
    EXPECT_EQ(FilesOf(name), FilesOf(other));
    for (const std::string& file : FilesOf(name)) {
      EXPECT_TRUE(folder_.Read(absl::StrCat(name, "/", file)) ==
                  folder_.Read(absl::StrCat(other, "/", file)))
          << file;
    }
  }

  TemporaryFolder folder_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TOOLS_QUANTIZE_FIXTURE_H_
