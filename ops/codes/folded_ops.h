// The ops after a product whose work its kernel does before it stores an element: the sum with a
// bias or a residual, a batch norm by given statistics, and the other stages that ops are
// (ops/op_traits.h). The executor absorbs them, and lowering writes them as an epilogue.

#ifndef FIXPOINT_OPS_CODES_FOLDED_OPS_H_
#define FIXPOINT_OPS_CODES_FOLDED_OPS_H_

#include <optional>
#include <variant>
#include <vector>

#include "ops/codes/coded_product.h"
#include "ops/codes/run_facts.h"
#include "ops/dims.h"
#include "ops/epilogue.h"
#include "proto/program_fwd.h"

namespace fixpoint {

// What a product, and the ops that are folded into it so far, give: FP32.
struct ProductResult {
  const Value* value;
  Dims dims;  // some may be unknown; {}: all are
  int channel_axis;
  // Where it is sums to which the product can add a bias, with nothing done to them yet.
  std::optional<CodedProduct> sums = std::nullopt;
};

struct FoldedOp {
  // What the stages read.
  enum class Operand {
    kNone,
    kBias,         // the addend, in int32; it has no stage, because it is added to the sums
    kRoundedBias,  // the addend, FP32, in the same way (BiasKind::kRoundedToSums)
    kChannels,     // the addend, an element for each channel
    kElements,     // the addend, of the result's dims
    kCodes,        // the addend's codes
    kStatistics,   // factors and addends of channels, made of the statistics (ops/norm_factors.h)
  };
  const Op* op = nullptr;
  Epilogue stages = {};
  Operand operand = Operand::kNone;
  const Argument* addend = nullptr;  // of a sum: its other input
  const Argument* output = nullptr;
};

// An op that alone reads a result: as what it is folded, or why it is not. Linear in the ops that
// follow it up to steps to codes (ops/value_flow.h).
using FoldOrReason = std::variant<FoldedOp, IntegerReason>;
FoldOrReason DecideFold(const Op& op, const ProductResult& result, const RunFacts& facts);

// The ops that are folded into a product, one after the other, from the one that reads its result
// on.
std::vector<FoldedOp> FindFoldedOps(ProductResult result, const RunFacts& facts);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_FOLDED_OPS_H_
