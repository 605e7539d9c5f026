// Gives a program new parameters and their values.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_PARAMETER_WRITER_H_
#define FIXPOINT_TRANSPILER_PIPELINE_PARAMETER_WRITER_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"
#include "runtime/tensor.h"
#include "transpiler/pipeline/edited_parameters.h"

namespace fixpoint {

class ParameterWriter {
 public:
  // REQUIRES: all outlive the writer.
  ParameterWriter(const Program& program, EditedParameters* parameters, Rewriter* rewriter);

  // Declares a persistable variable of block 0 named `base`, or like it, of the tensor's type and
  // extents, which holds the tensor. Returns its name.
  absl::StatusOr<std::string> Add(absl::string_view base, Tensor tensor);

  // The zero points of a scale, zeros in INT32 with its extents, which quantize_linear requires and
  // does not read. One scale has one.
  absl::StatusOr<std::string> ZeroPointOf(const std::string& scale);

 private:
  const Program& program_;
  EditedParameters& parameters_;
  Rewriter& rewriter_;
  absl::flat_hash_map<std::string, std::string> zero_points_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_PARAMETER_WRITER_H_
