// Ops whose inputs and attributes do not fit are refused, or computed: no kernel crashes.

#include <gtest/gtest.h>

#include <string>

#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "runtime/reference/interpreter.h"
#include "runtime/reference/kernels.h"
#include "runtime/scope.h"
#include "tests/runtime/reference/random_op.h"

namespace fixpoint::reference {
namespace {

class HostileOps : public testing::TestWithParam<std::string> {};

TEST_P(HostileOps, AreRefusedOrComputed) {
  constexpr int kOps = 300;
  for (int seed = 0; seed < kOps; ++seed) {
    Random random(seed);
    Scope scope;
    const Program program =
        *Program::Create(RandomOpProgram(random, *FindOpSchema(GetParam()), &scope));
    absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, &scope);
    if (!interpreter.ok()) continue;
    const auto fetched = interpreter->Run({}, {}, 0);
    if (!fetched.ok()) {
      EXPECT_NE(fetched.status().message().find(GetParam()), std::string::npos) << fetched.status();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachType, HostileOps, testing::ValuesIn(TypesWithKernel()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fixpoint::reference
