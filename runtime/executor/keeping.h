// Decides which last values of persistable variables are written directly into the variable's
// tensor, and which have to be copied there when the run ends.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_KEEPING_H_
#define FIXPOINT_RUNTIME_EXECUTOR_KEEPING_H_

#include <vector>

#include "runtime/executor/arena.h"
#include "runtime/executor/plan.h"

namespace fixpoint::executor {

// A variable's last value, and its tensor, whose value at entry may still be read.
struct Kept {
  Buffer buffer;
  Buffer tensor;
};

// Places each buffer where its tensor is, if nothing reads the tensor when the buffer is written or
// later, except in a step that may write it in place; returns the others. REQUIRES: the plan has
// all its fetches, and all steps except those that copy the others.
std::vector<Kept> KeepInPlace(const std::vector<Kept>& kept, const std::vector<InPlace>& in_place,
                              Plan* plan);

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_KEEPING_H_
