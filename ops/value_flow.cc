#include "ops/value_flow.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ops/code_ops.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// How many values are followed from one: more than networks need, and few enough that a program of
// nothing but moves takes no noticeable time.
constexpr size_t kMostMoved = 256;

// Whether an op quantizes X with a range that it does not find in X.
bool QuantizesAtGivenRange(const Op& op, Era era) {
  const std::optional<CodeOp> read = ReadCodeOp(op, era);
  return read && read->kind == QuantOp::kQuantize && !read->finds_scale;
}

}  // namespace

bool MovesValues(const Op& op, Era era) {
  const OpSchema* const schema = FindOpSchema(op.type());
  return schema != nullptr &&
         (schema->traits().joins_values || schema->KeepsRange(op.desc(), era)) &&
         !op.Inputs(schema->traits().moved).empty() && !op.Outputs("Out").empty();
}

bool BecomesCodes(const Value& value, Era era, const IsKept& is_kept, const IsReader& also) {
  std::vector<const Value*> rest = {&value};
  // An op may read a value several times, and may write several values that are read together.
  absl::flat_hash_set<const Value*> seen = {&value};
  while (!rest.empty()) {
    if (seen.size() > kMostMoved) return false;
    const Value& next = *rest.back();
    rest.pop_back();
    if (is_kept != nullptr && is_kept(next)) return false;
    for (const Argument* reader : next.readers()) {
      if (also != nullptr && also(*reader)) continue;
      if (reader->slot_name() == "X" && QuantizesAtGivenRange(reader->op(), era)) continue;
      const bool is_moved = reader->slot_name() == TraitsOf(reader->op()).moved;
      if (!is_moved || !MovesValues(reader->op(), era)) return false;
      for (const Argument* output : reader->op().Outputs("Out")) {
        if (output->value() == nullptr) return false;
        if (seen.insert(output->value()).second) rest.push_back(output->value());
      }
    }
  }
  return true;
}

bool BecomesCodes(const Argument& output, Era era, const IsKept& is_kept) {
  const Value* const value = output.value();
  return value != nullptr && value->variable().values().size() == 1 &&
         !value->variable().persistable() && !value->readers().empty() &&
         BecomesCodes(*value, era, is_kept);
}

}  // namespace fixpoint
