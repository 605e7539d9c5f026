// Optimizers, on the executor and on the reference interpreter.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/runtime/executor/both_backends.h"

namespace fixpoint::executor {
namespace {

TEST(Lamb, AdaptsWhereItDecaysOrAlways) {
  for (const char* rule :
       {"weight_decay=0.5, always_adapt=false", "weight_decay=0.0",
        "weight_decay=0.0, always_adapt=false", "weight_decay=0.0, always_adapt=true"}) {
    SCOPED_TRACE(rule);
    EXPECT_EQ(OpDifferences(absl::StrCat(R"(program version=2006002
        block 0 {
          lamb(Param=p, Grad=g, LearningRate=lr, Moment1=m1, Moment2=m2, Beta1Pow=b1,
            Beta2Pow=b2) -> (ParamOut=q, Moment1Out=n1, Moment2Out=n2, Beta1PowOut=c1, Beta2PowOut=c2) {)",
                                         rule, "}\n}"),
                            Drawn("p", {5}) + Drawn("g", {5}) +
                                "lr f32[1] 0.5\nm1 f32[5] 1 2 3 4 5\nm2 f32[5] 5 4 3 2 1\n"
                                "b1 f32[1] 0.5\nb2 f32[1] 0.75\n"),
              "");
  }
}

}  // namespace
}  // namespace fixpoint::executor
