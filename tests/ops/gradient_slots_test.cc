#include "ops/gradient_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/op_schema.h"
#include "proto/program/op_builder.h"

namespace fixpoint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::vector<std::string> Repeated(const std::string& gradient, const OpDesc& forward, Era era) {
  std::vector<std::string> slots;
  for (const RepeatedSlot& slot : RepeatedSlots(gradient, forward, era)) {
    slots.push_back(
        absl::StrCat(slot.name, "=", slot.source, slot.source_is_output ? " written" : ""));
  }
  return slots;
}

TEST(RepeatedSlots, AreThoseOfTheSchema) {
  const std::vector<std::string> slots =
      Repeated("batch_norm_grad", OpBuilder("batch_norm").Build(), Era::kPaddle2);
  EXPECT_THAT(slots, Contains("Mean=MeanOut written"));
  EXPECT_THAT(slots, Contains("SavedMean=SavedMean written"));
  EXPECT_THAT(slots, Contains("X=X"));
  EXPECT_THAT(slots, Not(Contains("Mean=Mean")));
}

TEST(RepeatedSlots, GoByNameWhereNoSchemaSaysMore) {
  EXPECT_THAT(Repeated("conv2d_grad_grad", OpBuilder("conv2d").Build(), Era::kFluid),
              Contains("Filter=Filter"));
  const OpDesc users = OpBuilder("my_op").Input("A", "a").Output("B", "b").Build();
  EXPECT_THAT(Repeated("my_op_grad", users, Era::kFluid), ElementsAre("A=A", "B=B written"));
}

TEST(FindGradientSchema, PrefersTheLineOfTheEra) {
  const OpSchema& leaky_relu = *FindOpSchema("leaky_relu");
  const auto first_input = [&leaky_relu](Era era) {
    return FindGradientSchema(leaky_relu, "leaky_relu_grad", era)->inputs.front().name;
  };
  EXPECT_EQ(first_input(Era::kFluid), "Out");
  EXPECT_EQ(first_input(Era::kPaddle2), "X");
  EXPECT_EQ(FindGradientSchema(leaky_relu, "leaky_relu_grad_grad", Era::kFluid), nullptr);
}

}  // namespace
}  // namespace fixpoint
