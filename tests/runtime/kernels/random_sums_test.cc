// Every kernel of sums of codes on random problems, against plain loops in 64 bits: the same bits,
// but for the signs of zeros, which oneDNN's stages do not keep.
//
//   ./bazelw run --config=opt //tests/runtime/kernels:random_sums_test_program -- --cases=2000
//
// ONEDNN_MAX_CPU_ISA=AVX512_CORE, AVX2 and SSE41 show the kernels of machines without VNNI.

#include "tests/runtime/kernels/random_sums.h"

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/sums_kernels.h"
#include "runtime/kernels/threads.h"

DEFINE_uint64(cases, 60, "Problems for each kernel.");
DEFINE_uint64(seed, 0, "The seed of the first one.");

namespace fixpoint::kernels {
namespace {

class RandomSumsTest : public testing::TestWithParam<const SumsKernel*> {
 protected:
  // Null: oneDNN has none for the problem.
  static std::unique_ptr<IntegerSums> Plan(const SumsProblem& problem) {
    try {
      return GetParam()->plan(problem);
    } catch (const dnnl::error& error) {
      EXPECT_EQ(error.status, dnnl_unimplemented) << error.what();
      return nullptr;
    }
  }
};

template <typename T>
void ExpectSame(const RandomSums& drawn, IntegerSums& sums) {
  std::vector<float> elements;
  for (const int64_t sum : PlainSumsOf(drawn)) {
    ASSERT_EQ(sum, static_cast<int32_t>(sum));
    elements.push_back(static_cast<float>(sum) * drawn.scales[elements.size() % drawn.channels()]);
  }
  const std::vector<absl::Span<const float>> stages(drawn.operands.begin(), drawn.operands.end());
  std::vector<T> expected(drawn.added.begin(), drawn.added.end());
  std::vector<T> out = expected;
  Store(drawn.problem.epilogue, stages, absl::MakeSpan(elements), absl::MakeSpan(expected));

  const std::vector<uint8_t> packed = Packed(sums, drawn.weights);
  SumOperands operands = {drawn.inputs,
                          packed,
                          drawn.scales,
                          drawn.zero_point,
                          stages,
                          drawn.bias,
                          drawn.weight_zero_points};
  sums.Run(operands, absl::MakeSpan(out));
  for (size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], expected[i]) << "element " << i << " of " << out.size();
  }
}

TEST_P(RandomSumsTest, AreTheBitsOfPlainLoops) {
  if (!GetParam()->has_instructions()) GTEST_SKIP() << "no instructions for it";
  uint64_t same = 0;
  for (uint64_t seed = FLAGS_seed; seed < FLAGS_seed + FLAGS_cases; ++seed) {
    const std::optional<RandomSums> drawn = DrawSums(seed, [](const SumsProblem& problem) {
      const std::vector<const SumsKernel*> kernels = KernelsFor(problem);
      return std::find(kernels.begin(), kernels.end(), GetParam()) != kernels.end();
    });
    ASSERT_TRUE(drawn) << "--seed=" << seed;
    SCOPED_TRACE(absl::StrCat("--cases=1 --seed=", seed, ": ", drawn->Text()));
    UseThreads(drawn->threads);
    const std::unique_ptr<IntegerSums> sums = Plan(drawn->problem);
    if (sums == nullptr) continue;
    switch (drawn->problem.output) {
      case OutputType::kFloat:
        ExpectSame<float>(*drawn, *sums);
        break;
      case OutputType::kUint8:
        ExpectSame<uint8_t>(*drawn, *sums);
        break;
      case OutputType::kInt8:
        ExpectSame<int8_t>(*drawn, *sums);
        break;
    }
    if (HasFatalFailure()) return;
    ++same;
  }
  UseThreads(1);
  std::printf("%s: %lu of %lu problems computed, from --seed=%lu on\n", GetParam()->name, same,
              FLAGS_cases, FLAGS_seed);
  EXPECT_GE(2 * same, FLAGS_cases) << "few problems that oneDNN has kernels for";
}

std::vector<const SumsKernel*> All() {
  std::vector<const SumsKernel*> all;
  for (const SumsKernel& kernel : SumsKernels()) all.push_back(&kernel);
  return all;
}

std::string NameOf(const testing::TestParamInfo<const SumsKernel*>& info) {
  std::string name = info.param->name;
  name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }),
             name.end());
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, RandomSumsTest, testing::ValuesIn(All()), NameOf);

}  // namespace
}  // namespace fixpoint::kernels

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  return RUN_ALL_TESTS();
}
