// NumPy's array files (.npy), as far as the reference data uses them.

#ifndef FIXPOINT_TESTS_TESTING_NPY_H_
#define FIXPOINT_TESTS_TESTING_NPY_H_

#include <string>

#include "runtime/tensor.h"

namespace fixpoint {

// REQUIRES: a file of format version 1 with float32 or int64 elements in C order.
Tensor LoadNpyOrDie(const std::string& path);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_NPY_H_
