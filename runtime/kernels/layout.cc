#include "runtime/kernels/layout.h"

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/extents.h"
#include "runtime/kernels/onednn.h"

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
        desc_(Engine(), from_.memory().get_desc(), Engine(), to_.memory().get_desc()),
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

}  // namespace

absl::StatusOr<std::unique_ptr<LayoutConversion>> LayoutConversion::Plan(DimsView dims,
                                                                         size_t element_size,
                                                                         ImageOrder order) {
  RETURN_IF_ERROR(CheckExtents("images", dims));
  // Nothing is computed: any type of that size will do.
  if (element_size != 1 && element_size != 4) {
    return absl::UnimplementedError(
        absl::StrCat("images of elements of ", element_size, " bytes; want 1 or 4"));
  }
  const memory::data_type type = element_size == 1 ? memory::data_type::u8 : memory::data_type::f32;
  return Planned("a conversion of layouts", [&]() -> std::unique_ptr<LayoutConversion> {
    return std::make_unique<Reorder>(dims, type, order);
  });
}

}  // namespace fixpoint::kernels
