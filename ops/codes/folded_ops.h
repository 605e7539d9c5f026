// The ops after a product whose work its kernel does before it stores an element: the sum with a
// bias or a residual, a batch norm by given statistics, and the other stages that ops are
// (ops/op_traits.h). The executor absorbs them, and lowering writes them as an epilogue.

#ifndef FIXPOINT_OPS_CODES_FOLDED_OPS_H_
#define FIXPOINT_OPS_CODES_FOLDED_OPS_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "ops/codes/coded_product.h"
#include "ops/codes/run_facts.h"
#include "ops/dims.h"
#include "ops/epilogue.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// The result of a product and of the ops folded into it so far, FP32.
struct ProductResult {
  const Value* value;
  Dims dims;  // some may be unknown; {}: all are
  int channel_axis;
  // The product that is computed on integers, while the result is its own.
  std::optional<CodedProduct> product = std::nullopt;
};

struct FoldedOp {
  // What the stages read.
  enum class Operand {
    kNone,
    kBias,        // the addend, in int32; it has no stage, because it is added to the sums
    kChannels,    // the addend, an element for each channel
    kElements,    // the addend, of the result's dims
    kCodes,       // the addend's codes
    kStatistics,  // factors and addends of channels, made of the statistics (ops/norm_factors.h)
  };
  const Op* op = nullptr;
  Epilogue stages = {};
  Operand operand = Operand::kNone;
  const Argument* addend = nullptr;  // of a sum: its other input
  const Argument* output = nullptr;
};

// Whether an addend at `axis` of a result with such dims has one element for each of its channels.
bool IsOfChannels(DimsView addend, int64_t axis, Dims dims, int channel_axis);

// Of two products of a block whose results a sum adds, the one that it is folded into: the later
// one, because the other's result is there when it runs.
const Op& ProductOfSum(const Op& a, const Op& b);

// How the only reader of a product's result is folded into the product, or why it is not. Linear in
// the ops that follow it up to the next quantize ops (ops/value_flow.h).
using FoldOrReason = std::variant<FoldedOp, IntegerReason>;
FoldOrReason DecideFold(const Op& op, const ProductResult& result, const RunFacts& facts);

// The ops that are folded into a product, one after the other, from the one that reads its result
// on.
std::vector<FoldedOp> FindFoldedOps(ProductResult result, const RunFacts& facts);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_FOLDED_OPS_H_
