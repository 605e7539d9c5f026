// Pooling of floats.

#include "tests/random/generators.h"
#include "tests/random/generators/windows.h"

namespace fixpoint::random_cases {
namespace {

void Pool(CaseMaker& c) {
  const SomePooling drawn = DrawPooling(c, /*may_be_channels_last=*/true);
  const bool is_max = c.OneIn(2);
  const std::string x = c.Numbers(drawn.input);
  c.Op("pool2d(X=", x, ") -> (Out=out) {pooling_type=\"", is_max ? "max" : "avg", "\", ",
       drawn.attributes, "}");
  c.Sums(drawn.taps);
  // Which element of equal ones is the largest must not depend on how they are moved.
  if (is_max) c.Move({absl::StrCat("out", "@GRAD")});
}

}  // namespace

Generators PoolingGenerators() { return {{"pool2d", Pool}}; }

}  // namespace fixpoint::random_cases
