// The dims of products: of matrices, of many of them, and of what is flattened to them.

#ifndef FIXPOINT_TESTS_RANDOM_GENERATORS_MATRICES_H_
#define FIXPOINT_TESTS_RANDOM_GENERATORS_MATRICES_H_

#include <cstdint>
#include <string>

#include "ops/dims.h"
#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

struct SomeProduct {
  Dims x;
  Dims y;
  std::string attributes;
  int64_t inner = 0;           // summands of an output element
  int64_t columns = 0;         // of the output
  int64_t summands = 0;        // of an element of the output, or of a gradient
  int column_axis = 1;         // of y
  bool is_transposed = false;  // x or y
  bool is_repeated = false;    // y, for the matrices of x: that product is one of numbers
};

// Draws the operands of mul, matmul, matmul_v2 or fc.
SomeProduct DrawProduct(CaseMaker& c, const std::string& type);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_GENERATORS_MATRICES_H_
