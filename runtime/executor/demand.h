// The ops that have to run for what is fetched and kept.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_DEMAND_H_
#define FIXPOINT_RUNTIME_EXECUTOR_DEMAND_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint::executor {

class Demand {
 public:
  // The demand in one block. `wanted` and the last values of persistable variables are kept; of
  // what else is read by the ops that have to run for them, what `is_kept_too` says. `unread_input`
  // gives the input that an op does not read, null for most (UnreadInput of schedule.h).
  Demand(const Block& block, Era era, const std::vector<const Value*>& wanted,
         absl::FunctionRef<bool(const Value&)> is_kept_too,
         absl::FunctionRef<const Argument*(const Op&)> unread_input);
  // The same where ops read all inputs and nothing else is kept.
  Demand(const Block& block, Era era, const std::vector<const Value*>& wanted);

  // Whether the op has to run.
  bool IsLive(const Op& op) const { return live_.contains(&op); }
  // Whether the value is kept, or an op that runs reads it.
  bool IsNeeded(const Value& value) const { return needed_.contains(&value); }
  // The only op that runs and reads the value's elements; null if there are more, or the
  // value itself is wanted.
  const Op* OnlyReader(const Value& value) const;
  // The ops of the block that run and read the value's elements, themselves or in blocks that they
  // run; once for each argument.
  absl::Span<const Op* const> Readers(const Value& value) const;

 private:
  absl::flat_hash_set<const Value*> kept_;
  absl::flat_hash_set<const Value*> needed_;
  absl::flat_hash_set<const Op*> live_;
  absl::flat_hash_map<const Value*, std::vector<const Op*>> readers_;
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_DEMAND_H_
