// A product in parts that its shape decides, each on one thread, so that any number of threads
// gives the same bits: for those whose sums oneDNN splits among threads.

#ifndef FIXPOINT_RUNTIME_KERNELS_PRODUCT_PARTS_H_
#define FIXPOINT_RUNTIME_KERNELS_PRODUCT_PARTS_H_

#include <glog/logging.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {

// Whether it splits sums of `desc`, on some number of threads.
bool SplitsSums(const ProductShape& shape, const dnnl::matmul::primitive_desc& desc);

class ProductParts {
 public:
  // `operands` is the type of x and y, which is read as it lies. Throws dnnl::error.
  ProductParts(const ProductShape& shape, dnnl::memory::data_type operands);

  // Of an element type T. REQUIRES: that of the operands; the sizes are the shape's.
  template <typename T>
  void Run(absl::Span<const T> x, absl::Span<const T> y, absl::Span<float> out) {
    CHECK_EQ(static_cast<int64_t>(x.size()), shape_.x_size());
    CHECK_EQ(static_cast<int64_t>(y.size()), shape_.y_size());
    CHECK_EQ(static_cast<int64_t>(out.size()), shape_.out_size());
    RunAlone(static_cast<int64_t>(parts_.size()), [&](int64_t i) {
      Part& part = parts_[i];
      part.x.PointToPart(&x[part.x_begin]);
      part.y.PointToPart(&y[part.y_begin]);
      part.out.PointToPart(&out[part.out_begin]);
      part.multiply.Run();
    });
  }

  const std::string& implementation() const { return implementation_; }

 private:
  // Elements of each matrix, and of the matrices: [begin, begin + size).
  struct Range {
    int64_t begin;
    int64_t size;
  };
  struct Part {
    Operand x;
    Operand y;
    Operand out;
    int64_t x_begin;
    int64_t y_begin;
    int64_t out_begin;
    Execution multiply;
  };
  void AddPart(Range matrices, Range rows, Range columns, dnnl::memory::data_type operands);

  const ProductShape shape_;
  std::string implementation_;
  std::vector<Part> parts_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PRODUCT_PARTS_H_
