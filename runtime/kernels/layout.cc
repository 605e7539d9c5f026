#include "runtime/kernels/layout.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/many_shapes.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/strided_copy.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {
namespace {

using dnnl::memory;

class Reorder final : public LayoutConversion {
 public:
  Reorder(DimsView dims, memory::data_type type, ImageOrder order)
      : from_(Operand::Elsewhere(order == ImageOrder::kToChannelsLast ? RowMajor(dims, type)
                                                                      : ChannelsLast(dims, type))),
        to_(Operand::Elsewhere(order == ImageOrder::kToChannelsLast ? ChannelsLast(dims, type)
                                                                    : RowMajor(dims, type))),
        desc_(Engine(), from_.memory().get_desc(), Engine(), to_.memory().get_desc(), Attributes()),
        reorder_(desc_, {{DNNL_ARG_FROM, from_}, {DNNL_ARG_TO, to_}}) {}

  void Run(const uint8_t* from, uint8_t* to) override {
    from_.PointTo(absl::MakeConstSpan(from, from_.size<uint8_t>()));
    to_.PointTo(absl::MakeSpan(to, to_.size<uint8_t>()));
    reorder_.Run();
  }

  std::string implementation() const override { return desc_.impl_info_str(); }

 private:
  Operand from_;
  Operand to_;
  dnnl::reorder::primitive_desc desc_;
  Execution reorder_;
};

// In loops of our own, for elements of type T.
template <typename T>
class Copy final : public LayoutConversion {
 public:
  static absl::StatusOr<std::unique_ptr<LayoutConversion>> Plan(DimsView dims, ImageOrder order) {
    const Dims in_memory = {dims[0], dims[2], dims[3], dims[1]};
    const StridedLayout row_major = TransposedLayout(dims, {0, 2, 3, 1});
    const StridedLayout channels_last = RowMajorLayout(in_memory);
    const bool is_from_row_major = order == ImageOrder::kToChannelsLast;
    ASSIGN_OR_RETURN(std::unique_ptr<StridedCopy> copy,
                     StridedCopy::Plan(in_memory, is_from_row_major ? row_major : channels_last,
                                       is_from_row_major ? channels_last : row_major));
    return std::unique_ptr<LayoutConversion>(new Copy(*ElementCount(dims), std::move(copy)));
  }

  void Run(const uint8_t* from, uint8_t* to) override {
    copy_->Run<T>(absl::MakeConstSpan(reinterpret_cast<const T*>(from), size_),
                  absl::MakeSpan(reinterpret_cast<T*>(to), size_));
  }

  std::string implementation() const override { return "loops"; }

 private:
  Copy(int64_t size, std::unique_ptr<StridedCopy> copy) : size_(size), copy_(std::move(copy)) {}

  int64_t size_;
  std::unique_ptr<StridedCopy> copy_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LayoutConversion>> LayoutConversion::Plan(DimsView dims,
                                                                         size_t element_size,
                                                                         ImageOrder order) {
  RETURN_IF_ERROR(CheckExtents("images", dims));
  // oneDNN knows no integers of 16 bits.
  if (element_size == 2) return Copy<int16_t>::Plan(dims, order);
  if (element_size != 1 && element_size != 4) {
    return absl::UnimplementedError(
        absl::StrCat("images of elements of ", element_size, " bytes; want 1, 2 or 4"));
  }
  if (AreForManyShapes()) {
    return element_size == 1 ? Copy<uint8_t>::Plan(dims, order) : Copy<float>::Plan(dims, order);
  }
  // Nothing is computed: any type of that size will do.
  const memory::data_type type = element_size == 1 ? memory::data_type::u8 : memory::data_type::f32;
  const ThreadsInUse threads(ThreadsFor(*ElementCount(dims), 2 * element_size));
  return Planned("a conversion of layouts", [&]() -> std::unique_ptr<LayoutConversion> {
    return std::make_unique<Reorder>(dims, type, order);
  });
}

}  // namespace fixpoint::kernels
