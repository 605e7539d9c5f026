// A program with a planted fault, and the text that it is reported by.

#ifndef FIXPOINT_TESTS_OPS_FINDING_CASE_H_
#define FIXPOINT_TESTS_OPS_FINDING_CASE_H_

#include <gtest/gtest.h>

#include <string>

#include "ops/verifier.h"
#include "tests/ops/text_program.h"

namespace fixpoint {

struct FindingCase {
  const char* name;
  const char* program;
  const char* findings;
};

inline void ExpectFindings(const FindingCase& planted) {
  const Program program = ProgramFromText(planted.program);
  EXPECT_EQ(FindingsText(program, Verify(program)), planted.findings);
}

inline std::string FindingCaseName(const testing::TestParamInfo<FindingCase>& info) {
  return info.param.name;
}

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_OPS_FINDING_CASE_H_
