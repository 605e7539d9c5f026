// The invariants of programs with trained scales, found again without the log that says what was
// rewritten.

#include <gtest/gtest.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/quantizers/text_quantizer.h"
#include "proto/program/program.h"
#include "tests/testing/without_marks.h"
#include "tests/transpiler/trained_scales.h"
#include "transpiler/train/found_rewrite.h"
#include "transpiler/train/invariants.h"

namespace fixpoint {
namespace {

TEST_F(TrainedScales, NothingIsWrongWithTheResultWithoutItsLog) {
  const Program program = Transpiled(kTwoProducts);
  const absl::StatusOr<FoundRewrite> found = FindRewrite(program, quantizers_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->plan.sites.size(), 4);
  for (const Violation& violation : CheckInvariants(program, *found, /*startup=*/nullptr)) {
    ADD_FAILURE() << violation.message;
  }
}

// Of quantizers whose gradients or updates read quantized values, or quantize.
TEST_F(TrainedScales, NothingIsWrongWithWhatTrainsAnyScale) {
  auto read = ReadQuantizers(R"(
quantizer narrowed "A range that shrinks where half of it errs less."
states:
  number_per_range() -> (Out=range) {initial=1.0}
forward:
  fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=out) {surrogate="clamp"}
update:
  scale(X=range) -> (Out=half) {scale=0.5}
  fake_quantize_dequantize_at_range(X=x, InScale=half) -> (Out=of_half)
  fake_quantize_dequantize_at_range(X=x, InScale=range) -> (Out=of_range)
  elementwise_sub(X=x, Y=of_half) -> (Out=half_errors)
  elementwise_sub(X=x, Y=of_range) -> (Out=range_errors)
  square(X=half_errors) -> (Out=half_squares)
  square(X=range_errors) -> (Out=range_squares)
  reduce_mean(X=half_squares) -> (Out=half_error)
  reduce_mean(X=range_squares) -> (Out=range_error)
  less_than(X=half_error, Y=range_error) -> (Out=shrinks)
  where(Condition=shrinks, X=half, Y=range) -> (Out=range)
)",
                             "narrowed.txt");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(quantizers_.Add(std::move(read->front())).ok());
  for (const char* name : {"narrowed", "ewgs", "dampened", "frozen_oscillations", "tqt"}) {
    options_.config.mutable_weights()->set_quantizer(name);
    options_.config.mutable_weights()->set_form(QuantSpec::FUSED);
    options_.config.mutable_weights()->set_granularity(QuantSpec::PER_TENSOR);
    const Program program = Transpiled(kTwoProducts);
    const absl::StatusOr<FoundRewrite> found = FindRewrite(program, quantizers_);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->plan.sites.size(), 4) << name;
    for (const Violation& violation : CheckInvariants(program, *found, /*startup=*/nullptr)) {
      ADD_FAILURE() << name << ": " << violation.message;
    }
  }
}

TEST_F(TrainedScales, NothingIsWrongWithTheResultWithoutItsMarks) {
  const Program program = WithoutMarks(Transpiled(kTwoProducts));
  const absl::StatusOr<FoundRewrite> found = FindRewrite(program, quantizers_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->plan.sites.size(), 4);
  for (const Violation& violation : CheckInvariants(program, *found, /*startup=*/nullptr)) {
    ADD_FAILURE() << violation.message;
  }
}

}  // namespace
}  // namespace fixpoint
