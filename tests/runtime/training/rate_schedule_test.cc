// Learning rates as text, and the variable through which a program is fed its own.

#include "runtime/training/rate_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ops/layers.h"
#include "ops/learning_rate.h"
#include "ops/optimizer.h"
#include "ops/program_builder.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> RatesOf(const std::string& text, int64_t steps) {
  const RateSchedule schedule = *RateSchedule::Parse(text);
  std::vector<double> rates;
  for (int64_t step = 0; step < steps; ++step) rates.push_back(schedule.At(step, steps));
  return rates;
}

TEST(RateSchedule, HasARateForEachStep) {
  EXPECT_THAT(RatesOf("0.5", 3), ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(RatesOf("linear:4", 4), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(RatesOf("piecewise:1,0.5@2,0.25@3", 5), ElementsAre(1, 1, 0.5, 0.25, 0.25));
  const std::vector<double> cosine = RatesOf("cosine:2", 4);
  EXPECT_EQ(cosine[0], 2);
  EXPECT_DOUBLE_EQ(cosine[1], 1 + std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(cosine[2], 1);
}

TEST(RateSchedule, RisesToWhatItWouldBe) {
  EXPECT_THAT(RatesOf("8,warmup=4", 5), ElementsAre(2, 4, 6, 8, 8));
  EXPECT_THAT(RatesOf("linear:8,warmup=2", 4), ElementsAre(4, 6, 4, 2));
}

TEST(RateSchedule, WhatIsNoScheduleIsRefused) {
  for (const char* text :
       {"", "fast", "-1", "inf", "nan", "0.1,", "0.1,0.2", "0.1@5", "cosine:", "cosine:1,0.5@3",
        "piecewise:0.1@0", "piecewise:1,2@0", "piecewise:1,2@5,3@5", "piecewise:1,2@x",
        "0.1,warmup=0", "warmup=3", "0.1,warmup=3,warmup=4", "piecewise:1,warmup=2,3@4"}) {
    EXPECT_EQ(RateSchedule::Parse(text).status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
}

// A network of one product, minimized at a rate.
Program Minimized(const LearningRate& rate) {
  Program main = EmptyProgram(2, 6, 2);
  Program startup = EmptyProgram(2, 6, 2);
  ProgramBuilder net(&main, &startup);
  const std::string loss = Mean(net, Fc(net, Data(net, "x", {-1, 2}), 1));
  EXPECT_TRUE(Optimizer(Sgd(), rate).Minimize(net, loss).ok());
  return main;
}

TEST(FindFedRate, IsTheNumberThatOptimizersReadAndNothingWrites) {
  EXPECT_EQ(*FindFedRate(Minimized(0.1f)), "learning_rate_0");
  EXPECT_THAT(FindFedRate(Minimized(LearningRate::Noam(8, 10))).status().message(),
              HasSubstr(" reads a learning rate that the program computes itself"));
  const Program forward = EmptyProgram(2, 6, 2);
  EXPECT_EQ(FindFedRate(forward).status().message(), "no op of an optimizer reads a learning rate");
}

TEST(SetRate, WritesOneNumber) {
  Scope scope;
  scope.Set("rate", Tensor::FromValues<float>({1}, {1.0f}));
  scope.Set("rates", Tensor::FromValues<float>({2}, {1.0f, 2.0f}));
  EXPECT_EQ(SetRate("rate", 0.25, &scope), absl::OkStatus());
  EXPECT_EQ((*scope.Find("rate"))->data<float>()[0], 0.25f);
  EXPECT_EQ(SetRate("rates", 0.25, &scope).message(),
            "the learning rate \"rates\" is not one number of FP32 or FP64");
  EXPECT_EQ(SetRate("none", 0.25, &scope).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fixpoint
