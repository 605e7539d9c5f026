// What the ops of schedules compute, step by step.

#include "ops/learning_rate.h"

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ops/program_builder.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// Runs programs of single numbers.
class Steps {
 public:
  explicit Steps(const LearningRate& schedule) {
    ProgramBuilder builder(&main_, &startup_);
    rate_ = schedule.Append(builder);
    CHECK(builder.status().ok()) << builder.status();
    Run(startup_.block(0));
  }

  // The rate of the next step.
  double Next() {
    Run(main_.block(0));
    return values_.at(rate_);
  }

 private:
  void Run(const Block& block) {
    for (const Op& op : block.ops()) Run(op);
  }

  void Run(const Op& op) {
    const auto in = [&](const char* slot) {
      return values_.at(std::string(op.Input(slot)->name()));
    };
    const auto attr = [&](const char* name) { return FloatAttr(op.desc(), name).value_or(0); };
    const std::string& type = op.type();
    if (type == "conditional_block") {
      if (in("Cond") != 0) Run(*op.sub_blocks().front());
      return;
    }
    double& out = values_[std::string(op.Output("Out")->name())];
    if (type == "fill_constant") {
      out = attr("value");
    } else if (type == "increment") {
      out = in("X") + attr("step");
    } else if (type == "cast" || type == "assign") {
      out = in("X");
    } else if (type == "scale") {
      out = in("X") * attr("scale");
    } else if (type == "elementwise_pow") {
      out = std::pow(in("X"), in("Y"));
    } else if (type == "elementwise_min") {
      out = std::min(in("X"), in("Y"));
    } else if (type == "less_than") {
      out = in("X") < in("Y");
    } else if (type == "logical_not") {
      out = in("X") == 0;
    } else if (type == "logical_and") {
      out = in("X") != 0 && in("Y") != 0;
    } else {
      LOG(FATAL) << type;
    }
  }

  Program main_;
  Program startup_;
  std::string rate_;
  std::map<std::string, double> values_;
};

// A rate is a float, with about 7 digits.
void ExpectNear(double actual, double expected) { EXPECT_NEAR(actual, expected, 1e-6 * expected); }

TEST(LearningRate, ANumberStaysWhatItIs) {
  Steps steps(0.5f);
  EXPECT_EQ(steps.Next(), 0.5);
  EXPECT_EQ(steps.Next(), 0.5);
}

TEST(LearningRate, NoamRisesForTheWarmupAndFallsWithTheRootOfTheStep) {
  Steps steps(LearningRate::Noam(/*model_width=*/64, /*warmup_steps=*/4, /*scale=*/2));
  const double largest = 2 / std::sqrt(64.0) / std::sqrt(4.0);
  ExpectNear(steps.Next(), largest * 1 / 4);
  ExpectNear(steps.Next(), largest * 2 / 4);
  ExpectNear(steps.Next(), largest * 3 / 4);
  ExpectNear(steps.Next(), largest);
  for (int step = 5; step < 16; ++step) steps.Next();
  ExpectNear(steps.Next(), largest / 2);
}

TEST(LearningRate, PiecewiseTakesEachValueUpToItsBoundary) {
  Steps steps(LearningRate::Piecewise({2, 3}, {0.5f, 0.25f, 0.125f}));
  std::vector<double> rates(5);
  for (double& rate : rates) rate = steps.Next();
  EXPECT_EQ(rates, std::vector<double>({0.5, 0.5, 0.25, 0.125, 0.125}));
}

// Two schedules of one program, as of two optimizers.
TEST(LearningRate, StepsAreCountedOnce) {
  Program main;
  Program startup;
  ProgramBuilder builder(&main, &startup);
  LearningRate::Noam(/*model_width=*/64, /*warmup_steps=*/4).Append(builder);
  LearningRate::Noam(/*model_width=*/64, /*warmup_steps=*/8).Append(builder);
  ASSERT_TRUE(builder.status().ok()) << builder.status();
  int increments = 0;
  for (const Op& op : main.block(0).ops()) increments += op.type() == "increment";
  EXPECT_EQ(increments, 1);
  EXPECT_EQ(startup.block(0).op_count(), 1);
}

}  // namespace
}  // namespace fixpoint
