// Maxima of codes against plain loops.

#include "runtime/kernels/code_pooling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/pooling_shape.h"
#include "tests/runtime/kernels/pooling_cases.h"

namespace fixpoint::kernels {
namespace {

template <typename Code>
std::vector<Code> Codes(int64_t size) {
  std::vector<Code> codes(size);
  uint32_t state = 12345;
  for (Code& code : codes) {
    state = state * 1664525u + 1013904223u;
    code = static_cast<Code>(state >> 24);
  }
  return codes;
}

class CodePoolings : public testing::TestWithParam<PoolingCase> {
 protected:
  template <typename Code>
  static void ExpectLargest(PoolingCase test) {
    const PoolingVariant maximum = {"Max", PoolingType::kMax, PoolingDivisor::kWindow};
    PoolingShape shape = ShapeOf(test, maximum);
    ASSERT_TRUE(CompleteShape(&shape).ok());
    const std::vector<Code> x = Codes<Code>(shape.input_size());
    std::vector<Code> expected(shape.output_size(), std::numeric_limits<Code>::min());
    ForEachWindow(shape, [&](int64_t out, const std::vector<int64_t>& places, int64_t) {
      for (const int64_t at : places) expected[out] = std::max(expected[out], x[at]);
    });
    const auto planned = CodePooling::Plan(shape);
    ASSERT_TRUE(planned.ok()) << planned.status();
    // Nothing may be written after the output.
    std::vector<Code> y(expected.size() + 64, Code{77});
    for (int run = 0; run < 2; ++run) {
      (*planned)->Run(x, absl::MakeSpan(y).first(expected.size()));
      ASSERT_EQ(std::vector<Code>(y.begin(), y.begin() + expected.size()), expected)
          << test.channels << " channels";
    }
    EXPECT_EQ(std::count(y.begin() + expected.size(), y.end(), Code{77}), 64);
  }
};

TEST_P(CodePoolings, AreTheLargestOfTheirWindows) {
  PoolingCase test = GetParam();
  for (const int64_t channels : {test.channels, int64_t{1}, int64_t{6}, int64_t{16}, int64_t{35}}) {
    test.channels = channels;
    ExpectLargest<uint8_t>(test);
    ExpectLargest<int8_t>(test);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CodePoolings, testing::ValuesIn(PoolingCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace fixpoint::kernels
