// Every gradient kernel against central differences, all in double.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/program/program.h"
#include "tests/runtime/reference/differentiated_program.h"
#include "tests/runtime/reference/gradient_cases.h"

namespace fixpoint::reference {
namespace {

class Gradients : public testing::TestWithParam<GradientCase> {};

// The difference quotient is off by step^2 times a third derivative and by rounding over step:
// here some 1e-9 of values around 1.
TEST_P(Gradients, EqualCentralDifferences) {
  constexpr double kStep = 1e-5;
  constexpr double kTolerance = 1e-7;
  for (const int64_t version : GetParam().versions) {
    SCOPED_TRACE(version);
    const DifferentiatedProgram program(GetParam().program, GetParam().inputs, version,
                                        GetParam().range);
    for (const std::string& parameter : program.parameters()) {
      const std::vector<double> gradient = program.GradientOf(parameter);
      ASSERT_EQ(gradient.size(), program.SizeOf(parameter));
      for (size_t i = 0; i < gradient.size(); ++i) {
        const double difference =
            (program.LossAt(parameter, i, kStep) - program.LossAt(parameter, i, -kStep)) /
            (2 * kStep);
        EXPECT_NEAR(gradient[i], difference, kTolerance * (1 + std::fabs(difference)))
            << parameter << "[" << i << "]";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, Gradients, testing::ValuesIn(GradientCases()),
                         [](const testing::TestParamInfo<GradientCase>& info) {
                           return std::to_string(info.index) + "_" + info.param.name;
                         });

}  // namespace
}  // namespace fixpoint::reference
