#include "ops/codes/bias_sum.h"

#include "ops/codes/declared_dims.h"
#include "ops/codes/folded_ops.h"
#include "ops/op_form.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {

std::optional<BiasSum> FindBiasSum(const Value& result, const Dims& dims, int channel_axis,
                                   const RunFacts& facts) {
  const Op* const reader = facts.OnlyReader(result);
  if (reader == nullptr || !TraitsOf(*reader).sum) return std::nullopt;
  const SumTrait& trait = *TraitsOf(*reader).sum;
  const std::optional<OpAttributes> attributes = OpAttributes::Of(reader->desc(), facts.era());
  const Argument* const x = reader->Input(trait.x);
  BiasSum sum;
  sum.op = reader;
  sum.bias = reader->Input(trait.y);
  sum.output = reader->Output(trait.output);
  if (!attributes || x == nullptr || x->value() != &result || sum.bias == nullptr ||
      sum.output == nullptr || sum.output->value() == nullptr ||
      !IsOfChannels(DeclaredDims(*sum.bias), attributes->Int(trait.axis), dims, channel_axis)) {
    return std::nullopt;
  }
  return sum;
}

}  // namespace fixpoint
