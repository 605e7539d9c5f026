#include "runtime/calibration/parameters_checksum.h"

#include <gtest/gtest.h>

#include "proto/program/program.h"
#include "tests/testing/parameter_text.h"
#include "tests/testing/parsed_program.h"

namespace fixpoint {
namespace {

TEST(ParametersChecksum, IsOfWhatTheProgramReads) {
  const Program program = ParsedProgram(R"(program version=2006002
    block 0 {
      var x f32[2]
      var w f32[2] persistable
      elementwise_add(X=x, Y=w) -> (Out=y)
    })");
  const auto checksum = [&program](const char* text) {
    return ParametersChecksum(program, *ParseParameters(text, "parameters"));
  };
  EXPECT_EQ(checksum("w f32[2] 1 2\n"), checksum("w f32[2] 1 2\nunused f32[1] 3\n"));
  EXPECT_NE(checksum("w f32[2] 1 2\n"), checksum("w f32[2] 1 3\n"));
  EXPECT_NE(checksum("w f32[2] 1 2\n"), checksum("w f32[1,2] 1 2\n"));
}

}  // namespace
}  // namespace fixpoint
