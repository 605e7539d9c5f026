// What a kernel of sums of codes is planned for.

#ifndef FIXPOINT_RUNTIME_KERNELS_SUMS_PROBLEM_H_
#define FIXPOINT_RUNTIME_KERNELS_SUMS_PROBLEM_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

struct SumsProblem {
  std::variant<ConvolutionShape, ProductShape> shape;
  SumCoding coding;
  Epilogue epilogue;
  OutputType output = OutputType::kFloat;

  // Null: it is the other one.
  const ConvolutionShape* convolution() const { return std::get_if<ConvolutionShape>(&shape); }
  const ProductShape* product() const { return std::get_if<ProductShape>(&shape); }
  // How many products make one sum.
  int64_t products() const {
    return convolution() != nullptr ? convolution()->taps() : product()->inner;
  }
};

// Error (kInvalidArgument): 32 bits may not hold a sum of so many products. `what` is "a product".
absl::Status CheckSums(const std::string& what, int64_t products, const SumCoding& coding);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUMS_PROBLEM_H_
