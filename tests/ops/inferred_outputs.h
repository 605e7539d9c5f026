// One op per case: its inputs' declarations, and what is inferred of its outputs, or the error.

#ifndef FIXPOINT_TESTS_OPS_INFERRED_OUTPUTS_H_
#define FIXPOINT_TESTS_OPS_INFERRED_OUTPUTS_H_

#include <gtest/gtest.h>

#include <string>

#include "ops/era.h"

namespace fixpoint {

struct InferCase {
  const char* program;  // variables, then one op, of release 2
  const char* inferred;
};

// "Out=FP32[2, 3] XShape=?[0]": each output argument with what is known of it.
std::string Inferred(const std::string& text, Era era);

class Infer : public testing::TestWithParam<InferCase> {
 protected:
  void ExpectOutputs() const {
    EXPECT_EQ(Inferred(GetParam().program, Era::kPaddle2), GetParam().inferred)
        << GetParam().program;
  }
};

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_OPS_INFERRED_OUTPUTS_H_
