// What the tests of the rewriter share: a program of two ops, and how to look at it.

#ifndef FIXPOINT_TESTS_PROTO_PROGRAM_REWRITER_FIXTURE_H_
#define FIXPOINT_TESTS_PROTO_PROGRAM_REWRITER_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/string_view.h"
#include "proto/program/op_builder.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "proto/text/program_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {

// The ops of block 0, a line each.
inline std::string Ops(const Program& program) {
  std::string text;
  for (const OpDesc& op : program.Proto().blocks(0).ops()) text += PrintOp(op) + "\n";
  return text;
}

inline OpDesc Relu(absl::string_view x, absl::string_view out) {
  return OpBuilder("relu").Input("X", x).Output("Out", out).Build();
}

inline const Op& OpAt(const Program& program, int index) {
  const Op* op = program.block(0).first_op();
  for (int i = 0; i < index; ++i) op = op->next();
  return *op;
}

class RewriterTest : public testing::Test {
 protected:
  Program program_ = ParsedProgram(R"(
    var x f32[4]
    var w f32[4]
    relu(X=x) -> (Out=a)
    sum(X=[a, w]) -> (Out=b) {axis=1, name="s"}
  )");
  Rewriter rewriter_{&program_, "test"};
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_PROTO_PROGRAM_REWRITER_FIXTURE_H_
