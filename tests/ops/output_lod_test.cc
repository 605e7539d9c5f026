// How offsets of sequences are passed on, as PaddlePaddle 2.6.2 does it.

#include "ops/output_lod.h"

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>

#include "ops/op_schema.h"
#include "proto/program/program.h"
#include "tests/ops/text_program.h"

namespace fixpoint {
namespace {

struct Held {
  int64_t rows;
  LoD lod;
};

struct OutputCase {
  std::string op;
  std::map<std::string, Held> inputs;
  std::string output;
  int64_t rows;
  LoD expected;
};

void PrintTo(const OutputCase& c, std::ostream* out) { *out << c.op << ": " << c.output; }

const LoD kTwo = {{0, 2, 3}};
const LoD kNested = {{0, 2}, {0, 2, 3}};
const LoD kOne = {{0, 1}};

const OutputCase kCases[] = {
    {"relu(X=x) -> (Out=y)", {{"x", {3, kTwo}}}, "y", 3, kTwo},
    {"relu(X=x) -> (Out=y)", {{"x", {3, {}}}}, "y", 3, {}},
    {"lookup_table(W=w, Ids=x) -> (Out=y)", {{"w", {3, {}}}, {"x", {3, kTwo}}}, "y", 3, kTwo},
    {"reshape2(X=x) -> (Out=y, XShape=s)", {{"x", {3, kTwo}}}, "y", 6, {}},
    {"reshape2(X=x) -> (Out=y, XShape=s)", {{"x", {3, kTwo}}}, "s", 0, {}},
    {"split(X=x) -> (Out=[y, z])", {{"x", {3, kTwo}}}, "z", 3, kTwo},
    {"matmul(X=x, Y=w) -> (Out=y)", {{"x", {3, kTwo}}, {"w", {2, {}}}}, "y", 3, kTwo},
    {"matmul_v2(X=x, Y=w) -> (Out=y)", {{"x", {3, kTwo}}, {"w", {2, {}}}}, "y", 3, {}},
    // The numbers of rows are equal by chance.
    {"transpose2(X=x) -> (Out=y)", {{"x", {3, kTwo}}}, "y", 3, {}},
    {"mean(X=x) -> (Out=y)", {{"x", {1, kOne}}}, "y", 1, {}},
    {"fake_quantize_abs_max(X=x) -> (Out=y, OutScale=s)", {{"x", {1, kOne}}}, "y", 1, kOne},
    {"fake_quantize_abs_max(X=x) -> (Out=y, OutScale=s)", {{"x", {1, kOne}}}, "s", 1, {}},
    // Of a list the first argument alone.
    {"sum(X=[x, w]) -> (Out=y)", {{"x", {3, {}}}, {"w", {3, kTwo}}}, "y", 3, {}},
    {"sum(X=[x, w]) -> (Out=y)", {{"x", {3, kTwo}}, {"w", {3, {}}}}, "y", 3, kTwo},
    {"top_k(X=x) -> (Out=y, Indices=i)", {{"x", {3, kTwo}}}, "i", 3, kTwo},
    // A gradient has the offsets of its variable.
    {"mul_grad(X=x, Y=w, Out@GRAD=d) -> (X@GRAD=dx, Y@GRAD=dw)",
     {{"x", {3, kTwo}}, {"w", {3, {}}}, {"d", {3, {}}}},
     "dx",
     3,
     kTwo},
    {"mul_grad(X=x, Y=w, Out@GRAD=d) -> (X@GRAD=dx, Y@GRAD=dw)",
     {{"x", {3, kTwo}}, {"w", {3, {}}}, {"d", {3, {}}}},
     "dw",
     3,
     {}},
    {"tanh_grad(Out=y, Out@GRAD=d) -> (X@GRAD=dx)",
     {{"y", {3, {}}}, {"d", {3, kTwo}}},
     "dx",
     3,
     kTwo},
    {"sequence_pool(X=x) -> (Out=y, MaxIndex=i)", {{"x", {3, kNested}}}, "y", 2, {{0, 2}}},
    {"sequence_pool(X=x) -> (Out=y, MaxIndex=i)", {{"x", {3, kTwo}}}, "y", 2, {}},
    {"sequence_pool(X=x) -> (Out=y, MaxIndex=i)", {{"x", {3, kNested}}}, "i", 2, {}},
};

class OutputLods : public testing::TestWithParam<OutputCase> {};

TEST_P(OutputLods, AreThoseOfAnInput) {
  const OutputCase& c = GetParam();
  const Program program = ProgramFromText(c.op);
  const Op& op = *program.block(0).ops().begin();
  const auto find_rows = [&c](const Argument& input) -> std::optional<Rows> {
    const Held& held = c.inputs.at(std::string(input.name()));
    return Rows{held.rows, &held.lod};
  };
  for (const Argument* output : op.outputs()) {
    if (output->name() != c.output) continue;
    EXPECT_EQ(OutputLod(*FindOpSchema(op.type()), *output, c.rows, find_rows), c.expected);
    return;
  }
  FAIL() << "no output " << c.output;
}

INSTANTIATE_TEST_SUITE_P(Ops, OutputLods, testing::ValuesIn(kCases));

}  // namespace
}  // namespace fixpoint
