#include "runtime/kernels/row_product.h"

#include <glog/logging.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// Columns whose sums are in registers at once.
constexpr int64_t kPanel = 64;

// The columns of the matrix lie in panels, [inner, kPanel] each; the last is filled up with zeros.
class RowProduct final : public Product, public HasPackedForm {
 public:
  RowProduct(int64_t inner, int64_t columns, bool transpose_y)
      : inner_(inner), columns_(columns), transpose_y_(transpose_y) {}

  int64_t packed_bytes() const override {
    return panels() * kPanel * inner_ * static_cast<int64_t>(sizeof(float));
  }

  std::string packed_form() const override {
    return absl::StrCat("panels of ", inner_, "x", columns_, transpose_y_ ? " transposed" : "");
  }

  void Pack(absl::Span<const float> y, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(y.size()), inner_ * columns_);
    float* to = reinterpret_cast<float*>(packed.data());
    for (int64_t first = 0; first < columns_; first += kPanel) {
      for (int64_t k = 0; k < inner_; ++k) {
        for (int64_t column = first; column < first + kPanel; ++column) {
          *to++ = column >= columns_ ? 0
                  : transpose_y_     ? y[column * inner_ + k]
                                     : y[k * columns_ + column];
        }
      }
    }
  }

  void Run(absl::Span<const float> x, absl::Span<const uint8_t> y, EpilogueOperands /*operands*/,
           absl::Span<float> out) override {
    CHECK_EQ(static_cast<int64_t>(x.size()), inner_);
    CHECK_EQ(static_cast<int64_t>(y.size()), packed_bytes());
    CHECK_EQ(static_cast<int64_t>(out.size()), columns_);
    // A cache that is a little smaller than the matrix still has the panels of the run before that
    // were read last.
    is_backwards_ = !is_backwards_;
    Vectorised([row = x.data(), matrix = reinterpret_cast<const float*>(y.data()),
                result = out.data(), inner = inner_, columns = columns_, panels = panels(),
                is_backwards = is_backwards_] {
      for (int64_t i = 0; i < panels; ++i) {
        const int64_t first = (is_backwards ? panels - 1 - i : i) * kPanel;
        const float* panel = matrix + first * inner;
        float sums[kPanel] = {};
        for (int64_t k = 0; k < inner; ++k, panel += kPanel) {
          const float factor = row[k];
          for (int64_t j = 0; j < kPanel; ++j) {
            sums[j] = __builtin_fmaf(factor, panel[j], sums[j]);
          }
        }
        const int64_t count = std::min(kPanel, columns - first);
        for (int64_t j = 0; j < count; ++j) result[first + j] = sums[j];
      }
    });
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  int64_t panels() const { return (columns_ + kPanel - 1) / kPanel; }

  const int64_t inner_;
  const int64_t columns_;
  const bool transpose_y_;
  bool is_backwards_ = true;
};

}  // namespace

std::unique_ptr<Product> PlanRowProduct(int64_t inner, int64_t columns, bool transpose_y) {
  if (BestInstructionSet() == InstructionSet::kSse41) return nullptr;
  return std::make_unique<RowProduct>(inner, columns, transpose_y);
}

}  // namespace fixpoint::kernels
