// The ops that a quantizer supplies for a program: their names are the quantizer's own, and are
// replaced by names of variables.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_OP_TEMPLATES_H_
#define FIXPOINT_TRANSPILER_PIPELINE_OP_TEMPLATES_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/infer.h"
#include "proto/program/op_builder.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

class OpTemplates {
 public:
  // The ops go into `block`; the names that they write first are declared there, as names that
  // begin with `prefix`. REQUIRES: all outlive this object.
  OpTemplates(const Program& program, Rewriter* rewriter, const Block& block, Era era,
              std::string prefix)
      : program_(program),
        rewriter_(*rewriter),
        block_(block),
        era_(era),
        prefix_(std::move(prefix)) {}

  // Makes a name of the ops stand for a variable.
  void Bind(absl::string_view name, absl::string_view variable) {
    names_[name] = std::string(variable);
  }
  // The op with variables for its names, ready to be inserted. REQUIRES: the ops before it are
  // inserted. Error (kInvalidArgument): it reads a name that is not bound and that none before it
  // wrote; its inputs contradict each other, or its outputs what is declared.
  absl::StatusOr<OpBuilder> Fill(OpDesc op);

 private:
  // Error (kInvalidArgument): the variable is declared otherwise.
  absl::Status CheckWrites(const OpDesc& op, const InferredOutput& inferred,
                           const std::string& name) const;

  const Program& program_;
  Rewriter& rewriter_;
  const Block& block_;
  const Era era_;
  const std::string prefix_;
  absl::flat_hash_map<std::string, std::string> names_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_OP_TEMPLATES_H_
