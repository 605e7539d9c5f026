// Programs that simulate quantization.

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/forward_ops.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/verifier/checks.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

// The op that wrote what an op quantizes or dequantizes; null if no op did.
const Op* WriterOfX(const Op& op) {
  const Argument* x = FindCodeArguments(op).input;
  if (x == nullptr || x->value() == nullptr || x->value()->written_by() == nullptr) return nullptr;
  return x->value()->op();
}

void CheckNesting(const Op& quantize, FindingList* findings) {
  const Op* writer = WriterOfX(quantize);
  if (writer == nullptr) return;
  QuantOp what = QuantOpOf(*writer);
  if (what == QuantOp::kDequantize) {
    writer = WriterOfX(*writer);
    if (writer == nullptr) return;
    what = QuantOpOf(*writer);
    if (what != QuantOp::kQuantize) return;  // the dequantized result of a product
  } else if (what != QuantOp::kQuantizeDequantize && what != QuantOp::kQuantize) {
    return;
  }
  findings->Error(
      FindingCode::kNestedQuantize, quantize,
      absl::StrCat("\"", FindCodeArguments(quantize).input->name(), "\" was quantized by ",
                   findings->Place(*writer), " already; want it quantized once"));
}

// The next write of a variable after a value, in the value's own block.
class NextWrites {
 public:
  // Null if nothing writes it again.
  const Op* After(const Value& value) {
    const Variable& variable = value.variable();
    if (known_.insert(&variable).second) Add(variable);
    const auto found = next_.find(&value);
    return found != next_.end() ? found->second : nullptr;
  }

 private:
  void Add(const Variable& variable) {
    const Value* previous = nullptr;
    for (const Value* value : variable.values()) {
      const bool is_write = value->origin() == Value::Origin::kWrite;
      if (previous != nullptr && is_write && &value->op()->block() == &previous->block()) {
        next_[previous] = value->op();
      }
      previous = value;
    }
  }

  absl::flat_hash_set<const Variable*> known_;
  absl::flat_hash_map<const Value*, const Op*> next_;
};

// Finds the forward readers of `result`, the quantized copy, after `write`.
void CheckStaleReaders(const Argument& result, const Argument& x, const Op& write,
                       FindingList* findings) {
  const Op* looked_at = nullptr;  // an op's reads stand together
  bool is_stale = false;
  for (const Argument* reader : result.value()->readers()) {
    const Op& op = reader->op();
    if (std::exchange(looked_at, &op) != &op) {
      is_stale = &op.block() == &write.block() && write.IsBefore(op) && IsForward(op);
    }
    if (!is_stale) continue;
    findings->Error(FindingCode::kStaleQuantizedRead, op,
                    absl::StrCat("input ", reader->slot_name(), " reads \"", reader->name(),
                                 "\", the quantized copy of \"", Shortened(x.name()), "\", which ",
                                 findings->Place(write), " has written since"));
  }
}

void CheckStaleness(const Op& quantize, NextWrites* next_writes, FindingList* findings) {
  const CodeArguments arguments = FindCodeArguments(quantize);
  const Argument* const x = arguments.input;
  const Argument* const result = arguments.output;
  if (x == nullptr || x->value() == nullptr || result == nullptr || result->value() == nullptr) {
    return;
  }
  const Op* write = next_writes->After(*x->value());
  if (write == nullptr || &write->block() != &quantize.block()) return;
  CheckStaleReaders(*result, *x, *write, findings);
  const Op* looked_at = nullptr;  // an op's reads stand together
  for (const Argument* reader : result->value()->readers()) {
    if (&reader->op() == looked_at || QuantOpOf(reader->op()) != QuantOp::kDequantize) continue;
    looked_at = &reader->op();
    const Argument* copy = FindCodeArguments(reader->op()).output;
    if (copy != nullptr && copy->value() != nullptr) CheckStaleReaders(*copy, *x, *write, findings);
  }
}

void CheckState(const KnownOp& known, Era era, FindingList* findings) {
  const Op& op = *known.op;
  if (IsTest(op.desc(), era) != false) return;
  for (const StateSlots& state : known.schema->training_state()) {
    const Argument* in = op.Input(state.input);
    const Argument* out = op.Output(state.output);
    const bool lacks_input = in == nullptr && !state.input.empty();
    if (lacks_input || (out == nullptr && !state.output.empty())) {
      findings->Error(FindingCode::kQuantizerState, op,
                      absl::StrCat("is_test is false, and ", lacks_input ? "input " : "output ",
                                   lacks_input ? state.input : state.output,
                                   " is missing; want the state that a training step updates"));
    } else if (in != nullptr && out != nullptr && in->variable() != out->variable()) {
      findings->Error(
          FindingCode::kQuantizerState, op,
          absl::StrCat(state.input, " is \"", in->name(), "\" and ", state.output, " is \"",
                       out->name(), "\"; want one variable, updated in place"));
    }
  }
}

}  // namespace

void CheckQuantization(const std::vector<KnownOp>& ops, Era era, FindingList* findings) {
  NextWrites next_writes;
  for (const KnownOp& known : ops) {
    const QuantOp what = known.schema->quant_op();
    if (what == QuantOp::kDequantize) continue;
    CheckState(known, era, findings);
    if (what == QuantOp::kObserve) continue;
    CheckNesting(*known.op, findings);
    CheckStaleness(*known.op, &next_writes, findings);
  }
}

}  // namespace fixpoint
