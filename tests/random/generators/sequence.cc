// Ops over sequences.

#include <algorithm>

#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

std::string SomeSequences(CaseMaker& c, const Dims& dims) {
  const std::string x = c.Numbers(dims);
  c.CutIntoSequences(x);
  return x;
}

void Pool(CaseMaker& c) {
  const Dims dims = {c.Between(1, 20), c.Between(1, 20)};
  const std::string type = c.OneOf<std::string>({"AVERAGE", "SUM", "SQRT", "MAX", "LAST", "FIRST"});
  c.Op("sequence_pool(X=", SomeSequences(c, dims), ") -> (Out=out, MaxIndex=index) {pooltype=\"",
       type, "\", pad_value=", FloatText(c.Between(-1.0f, 1.0f)), "}");
  c.Sums(dims[0]);
  if (type == "MAX") c.Move({"out@GRAD"});
}

void Softmax(CaseMaker& c) {
  const Dims dims = {c.Between(1, 40), 1};
  c.Op("sequence_softmax(X=", SomeSequences(c, dims), ") -> (Out=out)");
  c.Sums(dims[0]);
}

void Convolution(CaseMaker& c) {
  const int length = c.Between(1, 5);
  const Dims dims = {c.Between(1, 20), c.Between(1, 20)};
  const Dims filter = {length * dims[1], c.Between(1, 20)};
  const std::string x = SomeSequences(c, dims);
  c.Op("sequence_conv(X=", x, ", Filter=", c.Numbers(filter),
       ") -> (Out=out) {contextLength=", length, ", contextStart=", c.Between(-length, 1),
       ", contextStride=1}");
  c.Sums(std::max({filter[0], dims[0] * length, filter[1] * length}));
}

}  // namespace

Generators SequenceGenerators() {
  return {{"sequence_pool", Pool}, {"sequence_softmax", Softmax}, {"sequence_conv", Convolution}};
}

}  // namespace fixpoint::random_cases
