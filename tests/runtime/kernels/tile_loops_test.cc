// The loops of each instruction set that the processor has, beside each other, against plain loops.

#include "runtime/kernels/tile_loops.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fixpoint::kernels {
namespace {

struct Case {
  const TileLoops* loops;
  bool (*has_instructions)();
};

const Case kCases[] = {
    {&kTileLoopsAvx2, [] { return __builtin_cpu_supports("avx2") != 0; }},
    {&kTileLoopsAvx512, [] { return __builtin_cpu_supports("avx512bw") != 0; }},
    {&kTileLoopsAvxVnni, [] { return __builtin_cpu_supports("avxvnni") != 0; }},
    {&kTileLoopsAvx512VlVnni, [] { return __builtin_cpu_supports("avx512vnni") != 0; }},
    {&kTileLoopsAvx512Vnni, [] { return __builtin_cpu_supports("avx512vnni") != 0; }},
};

class TileLoopsTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!GetParam().has_instructions()) GTEST_SKIP() << "no instructions for it";
  }
};

// A panel in which steps of each way that the loops have follow each other, for small weights, so
// that any way is exact; and the largest codes.
TEST_P(TileLoopsTest, AddProductsInEachWay) {
  const TileLoops& loops = *GetParam().loops;
  constexpr int kSteps = 3;  // of each way
  const int ways = loops.has_vnni ? 1 : kStepWays - 1;
  const int64_t taps = ways * kSteps * kStepTaps;
  for (const int64_t filters : {loops.lanes - 3, loops.lanes, 2 * loops.lanes}) {
    for (int64_t pixels = 1; pixels <= 17; ++pixels) {
      const int64_t lanes = filters > loops.lanes ? 2 * loops.lanes : loops.lanes;
      std::vector<uint8_t> codes(pixels * taps);
      for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(255 - i % 7 * 41);
      const auto weight = [](int64_t filter, int64_t tap) {
        return static_cast<int8_t>((filter * 5 + tap * 3) % 127 - 63);
      };
      std::vector<uint8_t> packed;
      std::vector<int32_t> step_at;
      std::array<int32_t, kStepWays> steps = {};
      const auto add_step = [&](StepWay way, int64_t step) {
        ++steps[static_cast<int>(way)];
        step_at.push_back(static_cast<int32_t>(step * kStepTaps));
        for (int64_t f = 0; f < lanes; ++f) {
          const auto of_tap = [&](int tap) { return weight(f, step * kStepTaps + tap); };
          if (way == StepWay::kEvenWords || way == StepWay::kOddWords) {
            for (const int tap : {0, 2}) {
              const int16_t word = of_tap(tap + (way == StepWay::kOddWords ? 1 : 0));
              packed.push_back(static_cast<uint8_t>(word));
              packed.push_back(static_cast<uint8_t>(word >> 8));
            }
          } else {
            for (const int tap : kPairings[static_cast<int>(way)]) packed.push_back(of_tap(tap));
          }
        }
      };
      for (int way = 0; way < ways; ++way) {
        for (int i = 0; i < kSteps; ++i) add_step(static_cast<StepWay>(way), way * kSteps + i);
      }
      if (!loops.has_vnni) {
        for (int i = 0; i < kSteps; ++i) add_step(StepWay::kOddWords, (ways - 1) * kSteps + i);
      }
      const std::vector<int32_t> offsets(kMostPanelFilters, 1000);
      TilePanel panel = {};
      panel.codes = codes.data();
      panel.pixels = panel.row_pixels = pixels;
      panel.pixel_step = taps;
      panel.steps = steps.data();
      panel.weights = packed.data();
      panel.step_at = step_at.data();
      panel.filters = filters;
      panel.offsets = offsets.data();
      panel.out_step = filters;
      std::vector<int32_t> sums(pixels * filters);
      loops.to_sums(CodesOf::kAllFilters, panel, sums.data());
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t f = 0; f < filters; ++f) {
          int32_t expected = 1000;
          for (int64_t t = 0; t < taps; ++t) expected += codes[p * taps + t] * weight(f, t);
          ASSERT_EQ(sums[p * filters + f], expected)
              << pixels << " pixels, pixel " << p << ", filter " << f << " of " << filters;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, TileLoopsTest, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.loops->name;
  return name.substr(name.find(':') + 1);
});

}  // namespace
}  // namespace fixpoint::kernels
