// Ops that quantize and dequantize, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

constexpr const char* kVersions[] = {"1008005", "2006002"};

// A program of one of the releases, which compute the same in other orders.
std::string InRelease(const char* version, absl::string_view ops) {
  return absl::StrCat("program version=", version, "\nblock 0 {\n", ops, "\n}\n");
}

// Each row has a range of its own, and so a step of its own.
TEST(ChannelWiseQuantizeDequantize, GoesByEachChannelsStep) {
  for (const char* version : kVersions) {
    EXPECT_EQ(OpDifferences(InRelease(version, R"(
        fake_channel_wise_quantize_dequantize_abs_max(X=x) -> (Out=y, OutScale=s) {
          quant_axis=0, bit_length=8}
        fake_channel_wise_quantize_dequantize_lsq(X=x, InScale=r, InInitialized=i) -> (
          Out=z, OutScale=t, OutInitialized=j) {quant_axis=0, bit_length=8})"),
                            "x f32[2,3] 1 0.5 0.3 10 5 3\nr f32[2] 1 10\ni f32[2] 1 1\n", 1e-6,
                            {"y", "z", "s"}),
              "")
        << version;
  }
}

TEST(ChannelWiseQuantizeDequantize, OfNoChannelsGivesNothing) {
  for (const char* version : kVersions) {
    EXPECT_EQ(OpDifferences(InRelease(version, R"(
        fake_channel_wise_quantize_dequantize_abs_max(X=x) -> (Out=y, OutScale=s) {
          quant_axis=0, bit_length=8}
        fake_channel_wise_quantize_abs_max(X=x) -> (Out=q, OutScale=t) {
          quant_axis=0, bit_length=8}
        fake_channel_wise_dequantize_max_abs(X=q, Scales=t) -> (Out=z) {
          quant_bits=[8], quant_axis=0})"),
                            "x f32[0,3]\n", 0, {"y", "q", "z", "s"}),
              "")
        << version;
  }
}

}  // namespace
}  // namespace fixpoint::executor
