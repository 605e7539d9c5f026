// Computes ops of constants once, by the reference interpreter, and makes what they write
// parameters.

#ifndef FIXPOINT_TRANSPILER_PREPARE_CONSTANT_FOLDER_H_
#define FIXPOINT_TRANSPILER_PREPARE_CONSTANT_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "runtime/tensor.h"
#include "transpiler/pipeline/edited_parameters.h"

namespace fixpoint {

class ConstantFolder {
 public:
  // `pass` names the author of the edits. REQUIRES: all outlive this object.
  ConstantFolder(Program* program, EditedParameters* parameters, std::vector<std::string>* notes,
                 absl::string_view pass);

  // Folds the op if it is constant and can go; else leaves it, with a note where it reads only
  // constants and cannot be computed. Ops that it reads from are folded before it.
  absl::Status Fold(const Op& op);

 private:
  // The outputs that are read, if the op is constant and can go.
  std::optional<std::vector<const Argument*>> ResultsOfConstant(const Op& op) const;
  // Whether the variable holds nothing else, and nothing refers to it but the ops that read it.
  bool HoldsOneValue(const Variable& variable) const;
  static bool CanBeParameter(const Argument& output, int64_t* allowed);
  void MakeParameter(const Variable& variable, Tensor tensor);

  Program& program_;
  EditedParameters& parameters_;
  std::vector<std::string>& notes_;
  Rewriter rewriter_;
  const absl::flat_hash_set<std::string> named_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PREPARE_CONSTANT_FOLDER_H_
