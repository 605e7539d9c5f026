#include "runtime/kernels/two_pass_sums.h"

#include <glog/logging.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/epilogue_lanes.h"
#include "runtime/kernels/input_sums.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/plain_sums.h"
#include "runtime/kernels/product_shape.h"
#include "runtime/kernels/sum_begin.h"
#include "runtime/kernels/sums_epilogue.h"
#include "runtime/kernels/tiled_sums.h"

namespace fixpoint::kernels {
namespace {

int64_t InputSize(const SumsProblem& problem) {
  const ConvolutionShape* const convolution = problem.convolution();
  return convolution != nullptr ? convolution->input_size() : problem.product()->x_size();
}

SumsShape ShapeOf(const SumsProblem& problem) {
  if (const ConvolutionShape* const shape = problem.convolution()) {
    return {/*matrices=*/1, shape->batch * shape->out_height * shape->out_width, shape->filters,
            shape->groups};
  }
  const ProductShape& shape = *problem.product();
  return {shape.batch, shape.rows, shape.columns};
}

// Null: weights have no zero points, so nothing is taken off.
std::unique_ptr<InputSums> InputSumsFor(const SumsProblem& problem) {
  if (!problem.coding.has_weight_zero_points) return nullptr;
  return std::visit(
      [&](const auto& shape) {
        return std::make_unique<InputSums>(shape, problem.coding.inputs.type);
      },
      problem.shape);
}

class TwoPassSums final : public IntegerSums, public HasPackedForm {
 public:
  TwoPassSums(const SumsProblem& problem, std::unique_ptr<PlainSums> plain)
      : plain_(std::move(plain)),
        coding_(problem.coding),
        input_size_(InputSize(problem)),
        shape_(ShapeOf(problem)),
        input_sums_(InputSumsFor(problem)),
        epilogue_(problem.epilogue),
        output_(problem.output),
        second_pass_(shape_, epilogue_, output_),
        offsets_(shape_.matrices * shape_.channels),
        sums_(output_ == OutputType::kFloat ? 0 : shape_.size() / kLanes + 1) {}

  int64_t packed_bytes() const override { return plain_->packed_bytes(); }
  std::string packed_form() const override { return PackedFormOf(*plain_); }
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    plain_->Pack(codes, packed);
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_, {input_size_, packed_bytes(), shape_.channels, shape_.size()},
             epilogue_, output_);
    const absl::Span<int32_t> sums = SumsFor(out);
    plain_->Run(operands, sums, absl::MakeSpan(offsets_));
    StoredSums stored = {sums.data(), offsets_.data(), nullptr, nullptr};
    if (input_sums_ != nullptr) {
      stored.zero_points = operands.weight_zero_points.data();
      stored.input_sums = input_sums_->Run(operands.inputs, operands.zero_point);
    }
    second_pass_.Run(stored, operands.scales, operands.epilogue, out);
  }

  std::string implementation() const override {
    return absl::StrCat(plain_->implementation(), "+loops");
  }

 private:
  // Numbers take the place of their sums.
  absl::Span<int32_t> SumsFor(const Output& out) {
    void* const sums = output_ == OutputType::kFloat ? out.data() : sums_.data();
    return {static_cast<int32_t*>(sums), out.size()};
  }

  const std::unique_ptr<PlainSums> plain_;
  const SumCoding coding_;
  const int64_t input_size_;
  const SumsShape shape_;
  const std::unique_ptr<InputSums> input_sums_;
  const Epilogue epilogue_;
  const OutputType output_;
  SumsEpilogue second_pass_;
  std::vector<int32_t> offsets_;
  std::vector<Lanes> sums_;
};

}  // namespace

std::unique_ptr<IntegerSums> PlanTwoPassSums(const SumsProblem& problem) {
  std::unique_ptr<PlainSums> plain = PlanStoredSums(problem);
  if (plain == nullptr) return nullptr;
  return std::make_unique<TwoPassSums>(problem, std::move(plain));
}

std::unique_ptr<IntegerSums> PlanTilesInTwoPasses(const SumsProblem& problem) {
  return std::make_unique<TwoPassSums>(problem, PlanPlainTiledSums(problem));
}

std::unique_ptr<IntegerSums> PlanSumsOfFloats(const SumsProblem& problem) {
  return std::make_unique<TwoPassSums>(problem, PlanSumsInFloats(problem));
}

}  // namespace fixpoint::kernels
