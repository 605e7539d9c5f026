// Whether anything still needs a value, or a variable by its name, before the op that computes it
// is removed.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_USES_H_
#define FIXPOINT_TRANSPILER_PIPELINE_USES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether no op reads the value, or a value that merges it after a loop or a conditional. Linear in
// the values of its variable.
bool IsUnread(const Value& value);

// Whether no op reads any value that the op writes, and none of them is kept from run to run.
bool IsUnread(const Op& op);

// Whether an op that names the variable refers to it: no block in between declares another of that
// name.
bool CanName(const Program& program, const Op& op, const Variable& variable);

// What attributes of any op may name (NamesInAttributes of captures.h).
absl::flat_hash_set<std::string> NamesInAllAttributes(const Program& program);

// The ops that were removed since the program's edits began, by what they wrote. Linear in them.
class RemovedWriters {
 public:
  explicit RemovedWriters(const Program& program);

  // A removed op, earlier or in the same loop, that may have computed what an op reads and that
  // nothing else computes. Null if there is none, or if the variable keeps what it held before.
  const Op* WriterOf(const Argument& read) const;

  // Error (kFailedPrecondition): it reads what such an op computed.
  absl::Status Check(const Argument& read) const;

 private:
  // A variable by its name if nothing declares it, else as it is declared.
  using Key = std::pair<const Variable*, std::string>;

  struct Writer {
    const Op* op;
    const Op* in_main;
  };
  using RemovedVariables =
      absl::flat_hash_map<std::pair<const Block*, std::string>, const Variable*>;

  // What a name meant in a block before variables were removed; null if nothing declared it.
  static const Variable* Meant(const Program& program, const RemovedVariables& removed,
                               const Block& block, absl::string_view name);
  // The op of the main block that is, or runs, an op, even if it was removed; null if there is
  // none.
  const Op* InMain(const Op& op) const;

  std::vector<const Op*> owners_;  // by block: as InMain
  // The writer that runs first.
  absl::flat_hash_map<Key, Writer> writers_;
};

// Error (kFailedPrecondition): an op reads what a removed op computed.
absl::Status CheckReads(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_USES_H_
