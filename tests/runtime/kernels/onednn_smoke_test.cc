// oneDNN 3 is linked and computes.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"

namespace fixpoint {
namespace {

using dnnl::memory;

constexpr int kRows = 5;
constexpr int kInner = 67;  // No multiple of a vector's length.
constexpr int kColumns = 19;

TEST(OneDnn, IsVersion3) {
  EXPECT_EQ(DNNL_VERSION_MAJOR, 3);
  EXPECT_EQ(dnnl_version()->major, 3);
}

// Weights of -64 to 63, for which the product is exact on every machine: one without VNNI adds
// pairs of products in 16 bits, and 2 * 255 * 64 is the largest such sum that they hold.
TEST(OneDnn, AProductOfU8AndS8EqualsPlainLoops) {
  std::vector<uint8_t> src(kRows * kInner);
  std::vector<int8_t> weights(kInner * kColumns);
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<uint8_t>(i < 70 ? 255 : i * 37);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<int8_t>(i < 200 ? -64 : static_cast<int>(i * 29 % 128) - 64);
  }

  std::vector<int32_t> expected(kRows * kColumns, 0);
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      for (int k = 0; k < kInner; ++k) {
        expected[row * kColumns + column] +=
            int32_t{src[row * kInner + k]} * weights[k * kColumns + column];
      }
    }
  }

  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto ab = memory::format_tag::ab;
  const memory::desc src_desc({kRows, kInner}, memory::data_type::u8, ab);
  const memory::desc weights_desc({kInner, kColumns}, memory::data_type::s8, ab);
  const memory::desc dst_desc({kRows, kColumns}, memory::data_type::s32, ab);
  const dnnl::matmul product(
      dnnl::matmul::primitive_desc(engine, src_desc, weights_desc, dst_desc));
  std::vector<int32_t> dst(expected.size());
  product.execute(stream, {{DNNL_ARG_SRC, memory(src_desc, engine, src.data())},
                           {DNNL_ARG_WEIGHTS, memory(weights_desc, engine, weights.data())},
                           {DNNL_ARG_DST, memory(dst_desc, engine, dst.data())}});
  stream.wait();
  EXPECT_EQ(dst, expected);
}

}  // namespace
}  // namespace fixpoint
