// A program in which each op reads what it is given, not what the ops before it compute: a
// difference from another program shows where it arises, and is not carried on.

#ifndef FIXPOINT_RUNTIME_OP_BY_OP_H_
#define FIXPOINT_RUNTIME_OP_BY_OP_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/program/program.h"

namespace fixpoint {

// A tensor of block 0 that an op writes and that is not persistable.
struct WrittenTensor {
  std::string name;
  const Op* op;  // the first that writes it
};
// Each once, in the order in which ops write them. What an op names as an output and does not write
// (IsWritten) is none.
std::vector<WrittenTensor> WrittenTensors(const Program& program);

// What ops read instead of a tensor.
struct GivenTensor {
  std::string name;
  std::string given_as;  // a tensor that is declared alike, and that nothing writes
};

struct OpByOpProgram {
  Program program;
  std::vector<GivenTensor> given;
};

// Ops of block 0 are given the tensors of FP32, INT8 and UINT8 that `other` writes under the same
// names, unless they are written more than once; ops read other tensors as before, and ops that run
// blocks read all of them as before. Linear in both programs.
OpByOpProgram MakeOpByOp(const Program& program, const Program& other);

}  // namespace fixpoint

#endif  // FIXPOINT_RUNTIME_OP_BY_OP_H_
