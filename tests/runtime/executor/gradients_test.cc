// Ops and their gradients, as AppendBackward makes them, on the executor and on the reference
// interpreter; and which op types the interpreter runs alone.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "runtime/executor/op_plans.h"
#include "runtime/reference/kernels.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/runtime/executor/both_backends.h"
#include "tests/runtime/reference/differentiated_program.h"
#include "tests/runtime/reference/gradient_cases.h"

namespace fixpoint::executor {
namespace {

using reference::DifferentiatedProgram;
using reference::GradientCase;

// FP64 becomes FP32.
Scope InSinglePrecision(const Scope& scope) {
  Scope single;
  for (const auto& [name, value] : scope) {
    const Tensor& tensor = std::get<Tensor>(value);
    if (tensor.dtype() != VarType::FP64) {
      single.Set(name, *tensor.Clone());
      continue;
    }
    Tensor rounded = *Tensor::Allocate(VarType::FP32, {tensor.dims().begin(), tensor.dims().end()});
    for (int64_t i = 0; i < tensor.size(); ++i) {
      rounded.mutable_data<float>()[i] = static_cast<float>(tensor.data<double>()[i]);
    }
    rounded.set_lod(tensor.lod());
    single.Set(name, std::move(rounded));
  }
  return single;
}

class Gradients : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradients, AreAsOnTheInterpreter) {
  for (const int64_t version : GetParam().versions) {
    SCOPED_TRACE(version);
    const DifferentiatedProgram program(GetParam().program, GetParam().inputs, version,
                                        GetParam().range);
    std::vector<std::string> fetches = {"out", "loss"};
    for (const std::string& parameter : program.parameters()) {
      fetches.push_back(absl::StrCat(parameter, kGradientSuffix));
    }
    Scopes scopes = CopiesOf(InSinglePrecision(program.Inputs()));
    EXPECT_EQ(RunOnBoth(program.program(), fetches, 0, 1e-5, &scopes), "");
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, Gradients, testing::ValuesIn(reference::GradientCases()),
                         [](const testing::TestParamInfo<GradientCase>& info) {
                           return absl::StrCat(info.index, "_", info.param.name);
                         });

TEST(Plans, OfWhatTheInterpreterRunsAreThere) {
  std::vector<std::string> missing;
  for (const std::string& type : reference::TypesWithKernel()) {
    if (FindOpPlan(type) == nullptr) missing.push_back(type);
  }
  EXPECT_EQ(absl::StrJoin(missing, " "), "");
}

}  // namespace
}  // namespace fixpoint::executor
