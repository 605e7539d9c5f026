#include "runtime/kernels/finished_sums.h"

#include <glog/logging.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/kernels/sum_begin.h"

namespace fixpoint::kernels {
namespace {

class ByLoops final : public IntegerSums {
 public:
  ByLoops(std::unique_ptr<PlainSums> plain, const SumCoding& coding, int64_t input_size,
          const SumsShape& shape, std::unique_ptr<InputSums> input_sums, const Epilogue& epilogue,
          OutputType output)
      : plain_(std::move(plain)),
        coding_(coding),
        input_size_(input_size),
        shape_(shape),
        input_sums_(std::move(input_sums)),
        epilogue_(epilogue),
        output_(output),
        finish_(shape, epilogue, output),
        offsets_(shape.matrices * shape.channels),
        sums_(output == OutputType::kFloat ? 0 : shape.size()) {
    CHECK_EQ(coding.has_weight_zero_points, input_sums_ != nullptr);
  }

  int64_t packed_bytes() const override { return plain_->packed_bytes(); }
  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    plain_->Pack(codes, packed);
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_, {input_size_, packed_bytes(), shape_.channels, shape_.size()},
             epilogue_, output_);
    const absl::Span<int32_t> sums = SumsFor(out);
    plain_->Run(operands, sums, absl::MakeSpan(offsets_));
    UnfinishedSums unfinished = {sums.data(), offsets_.data(), nullptr, nullptr};
    if (input_sums_ != nullptr) {
      unfinished.zero_points = operands.weight_zero_points.data();
      unfinished.input_sums = input_sums_->Run(operands.inputs, operands.zero_point);
    }
    finish_.Run(unfinished, operands.scales, operands.epilogue, out);
  }

  std::string implementation() const override {
    return absl::StrCat(plain_->implementation(), "+loops");
  }

 private:
  // The floats overwrite their sums.
  absl::Span<int32_t> SumsFor(const Output& out) {
    if (output_ != OutputType::kFloat) return absl::MakeSpan(sums_);
    return {static_cast<int32_t*>(out.data()), out.size()};
  }

  const std::unique_ptr<PlainSums> plain_;
  const SumCoding coding_;
  const int64_t input_size_;
  const SumsShape shape_;
  const std::unique_ptr<InputSums> input_sums_;
  const Epilogue epilogue_;
  const OutputType output_;
  SumFinish finish_;
  std::vector<int32_t> offsets_;
  std::vector<int32_t> sums_;
};

}  // namespace

std::unique_ptr<IntegerSums> FinishedSums(std::unique_ptr<PlainSums> sums, const SumCoding& coding,
                                          int64_t input_size, const SumsShape& shape,
                                          std::unique_ptr<InputSums> input_sums,
                                          const Epilogue& epilogue, OutputType output) {
  return std::make_unique<ByLoops>(std::move(sums), coding, input_size, shape,
                                   std::move(input_sums), epilogue, output);
}

}  // namespace fixpoint::kernels
