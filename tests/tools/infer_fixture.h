// What the tests of infer share: a folder with a program, its parameters and an array.

#ifndef FIXPOINT_TESTS_TOOLS_INFER_FIXTURE_H_
#define FIXPOINT_TESTS_TOOLS_INFER_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/npy.h"
#include "runtime/tensor.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {

// y = w * x
inline constexpr char kProgram[] = R"(var feed feed_minibatch persistable
var fetch fetch_list persistable
var x f32[-1,2]
var w f32[1] persistable
var y f32[-1,2]
feed(X=feed) -> (Out=x) {col=0}
elementwise_mul(X=x, Y=w) -> (Out=y)
fetch(X=y) -> (Out=fetch) {col=0}
)";

// The same in codes, one of which is one step above x * 2.
inline constexpr char kCodes[] = R"(var x f32[-1,2]
var y u8[-1,2]
integer_quantize(X=x) -> (Out=y) {multiplier=2.25, smallest_code=0, out_dtype=20, out_range=127.0, out_largest_code=127}
)";

// An image has ink, so the answer is always 0: right for a tenth of the digits.
inline constexpr char kAlwaysZero[] = R"(var image f32[-1,784]
var ink f32[-1,1]
var no_ink f32[-1,1]
var scores f32[-1,2]
var loss f32[1]
reduce_sum(X=image) -> (Out=ink) {dim=[1], keep_dim=true}
scale(X=ink) -> (Out=no_ink) {scale=0.0}
concat(X=[ink, no_ink]) -> (Out=scores) {axis=1}
)";

// The file of one FP32 [1]: 2.
inline const std::string kTwo = std::string(16, '\0') +
                                std::string("\x04\0\0\0\x08\x05\x10\x01", 8) +
                                std::string("\0\0\0\x40", 4);

class Infer : public testing::Test {
 protected:
  Infer() {
    folder_.Write("net.txt", kProgram);
    folder_.Write("params/w", kTwo);
    Save("x.npy", Tensor::FromValues<float>({2, 2}, {1, 2, 3, 4}));
  }

  void Save(const std::string& name, const Tensor& tensor) const {
    const absl::StatusOr<std::string> array = NpyBytes(tensor);
    ASSERT_TRUE(array.ok()) << array.status();
    folder_.Write(name, *array);
  }

  BinaryRun Run(std::vector<std::string> arguments,
                const std::string& backend = "reference") const {
    RunBinaryOptions options;
    options.callers_directory = folder_.Path();
    if (!backend.empty()) arguments.push_back("--backend=" + backend);
    return RunBinary("tools/infer", arguments, options);
  }

  TemporaryFolder folder_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TOOLS_INFER_FIXTURE_H_
