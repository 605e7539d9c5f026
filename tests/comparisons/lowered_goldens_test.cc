// The programs of tests/golden/lower compute what they computed before, bit for bit, on the
// executor and on the interpreter. The feeds have no ties, which quantizers may round differently.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "ops/op_schema.h"
#include "ops/state_codes.h"
#include "proto/program/program.h"
#include "runtime/executor/executor.h"
#include "runtime/random.h"
#include "runtime/reference/interpreter.h"
#include "runtime/tensor.h"
#include "tests/testing/golden.h"
#include "tests/testing/parameter_text.h"
#include "transpiler/lower/lower.h"

namespace fixpoint {
namespace {

using executor::Executor;

std::vector<std::string> GoldenFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/lower")) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The only variable that the program is fed.
std::vector<const Variable*> FedTo(const Program& program) {
  std::vector<const Variable*> fed;
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == "feed") fed.push_back(op.Output("Out")->variable());
  }
  return fed;
}

std::vector<std::string> FetchedBy(const Program& program) {
  std::vector<std::string> names;
  for (const Op& op : program.block(0).ops()) {
    if (op.type() == "fetch") names.emplace_back(op.Input("X")->name());
  }
  return names;
}

// Whether the op is computed on integers, or only moves codes. The executor computes all other ops
// on the codes that it holds, an interpreter on what they stand for. Both round functions of gates
// differently.
bool IsJudged(const Program& lowered, const std::string& fetched) {
  for (const Op& op : lowered.block(0).ops()) {
    if (op.outputs().empty() || op.outputs().front()->name() != fetched) continue;
    if (op.FindAttr(kStateBitsAttr) != nullptr) return false;
    return absl::StartsWith(op.type(), "integer_") ||
           FindOpSchema(op.type())->KeepsRange(op.desc(), EraOf(lowered));
  }
  return false;
}

// Two images, or rows, or a sequence of two: floats within twice the range of the codes, so that
// some are clipped; for integers, 0, 1, 2 and so on.
Tensor RandomInput(const Variable& variable) {
  const VarType::TensorDesc& type = *variable.tensor();
  std::vector<int64_t> dims(type.dims().begin(), type.dims().end());
  dims[0] = 2;
  Tensor input = *Tensor::Allocate(type.data_type(), dims);
  const RandomStream random(1, 0, 0);
  for (int64_t i = 0; i < input.size(); ++i) {
    if (type.data_type() == VarType::INT64) {
      input.mutable_data<int64_t>()[i] = i;
    } else if (type.data_type() == VarType::INT8) {
      input.mutable_data<int8_t>()[i] = static_cast<int8_t>(40 * random.Normal(i));
    } else {
      input.mutable_data<float>()[i] = 2 * static_cast<float>(random.Normal(i));
    }
  }
  if (variable.desc()->type().lod_tensor().lod_level() > 0) input.set_lod({{0, 2}});
  return input;
}

class LoweredGoldens : public testing::TestWithParam<std::string> {};

TEST_P(LoweredGoldens, ComputeWhatTheyDidBefore) {
  std::ifstream file(GetParam());
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const absl::StatusOr<Golden> golden = ParseGolden(text, GetParam());
  ASSERT_TRUE(golden.ok()) << golden.status();
  const absl::StatusOr<Program> portable =
      ParseGoldenProgram(*golden->Section("program"), GetParam());
  absl::StatusOr<Scope> scope = ParseParameters(*golden->Section("parameters"), GetParam());
  ASSERT_TRUE(portable.ok() && scope.ok()) << portable.status() << scope.status();
  absl::StatusOr<LoweredModel> lowered = Lower(*portable, *scope);
  ASSERT_TRUE(lowered.ok()) << lowered.status();

  // Nothing runs an op with a slot that its type does not have; no rule takes it.
  if (const auto runs = reference::Interpreter::Create(*portable, &*scope); !runs.ok()) {
    const auto still = reference::Interpreter::Create(lowered->program, &lowered->scope);
    EXPECT_EQ(still.status().code(), runs.status().code()) << still.status();
    return;
  }
  const std::vector<const Variable*> fed = FedTo(*portable);
  ASSERT_FALSE(fed.empty());
  std::vector<Tensor> inputs;
  for (const Variable* const variable : fed) {
    ASSERT_NE(variable->tensor(), nullptr);
    inputs.push_back(RandomInput(*variable));
  }
  std::vector<Feed> feeds;
  for (size_t i = 0; i < fed.size(); ++i) feeds.push_back({fed[i]->name(), &inputs[i]});
  const std::vector<std::string> fetches = FetchedBy(*portable);
  const auto before = Executor::Create(*portable, &*scope);
  const auto integers = Executor::Create(lowered->program, &lowered->scope);
  auto judge = reference::Interpreter::Create(lowered->program, &lowered->scope);
  ASSERT_TRUE(before.ok() && integers.ok() && judge.ok())
      << before.status() << integers.status() << judge.status();
  const auto expected = (*before)->Run(feeds, fetches, 0);
  const auto got = (*integers)->Run(feeds, fetches, 0);
  const auto judged = judge->Run(feeds, fetches, 0);
  ASSERT_TRUE(expected.ok() && got.ok() && judged.ok())
      << expected.status() << got.status() << judged.status();
  for (size_t i = 0; i < fetches.size(); ++i) {
    EXPECT_EQ((*got)[i].dims(), (*expected)[i].dims());
    EXPECT_EQ((*got)[i].bytes(), (*expected)[i].bytes()) << fetches[i];
    if (!IsJudged(lowered->program, fetches[i])) continue;
    EXPECT_EQ((*judged)[i].bytes(), (*expected)[i].bytes()) << fetches[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Files, LoweredGoldens, testing::ValuesIn(GoldenFiles()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

}  // namespace
}  // namespace fixpoint
