#include "runtime/kernels/kernel_speeds.h"

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/best_rate.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/wide_sums.h"

namespace fixpoint::kernels {
namespace {

constexpr int kTinyRuns = 1000;

ConvolutionShape Shape(int64_t channels, int64_t size) {
  ConvolutionShape shape;
  shape.channels = shape.filters = channels;
  shape.height = shape.width = size;
  shape.window = {WindowAxis{3, 1, 1, 1, 1}, WindowAxis{3, 1, 1, 1, 1}};
  CHECK(CompleteShape(&shape).ok());
  return shape;
}

double OperationsOf(const ConvolutionShape& shape) {
  return 2.0 * static_cast<double>(shape.output_size() * shape.taps());
}

// A convolution of floats with its operands.
class FloatConvolution {
 public:
  explicit FloatConvolution(const ConvolutionShape& shape)
      : x_(shape.input_size(), 0.5f), y_(shape.output_size()) {
    auto convolution = ConvolutionForward::Plan(shape);
    CHECK(convolution.ok()) << convolution.status();
    convolution_ = *std::move(convolution);
    filters_ = Packed(*convolution_, std::vector<float>(shape.filter_size(), 0.5f));
  }

  // Returns the number of runs.
  int Run(int runs) {
    for (int run = 0; run < runs; ++run) convolution_->Run(x_, filters_, {}, absl::MakeSpan(y_));
    return runs;
  }

 private:
  std::vector<float> x_;
  std::vector<float> y_;
  std::unique_ptr<ConvolutionForward> convolution_;
  std::vector<uint8_t> filters_;
};

// The same for codes, including the storing of a layer's results as codes.
class CodeConvolution {
 public:
  explicit CodeConvolution(const ConvolutionShape& shape)
      : x_(shape.input_size(), 1), y_(shape.output_size()), scales_(shape.filters, 1.0f / 16) {
    auto convolution = PlanIntegerConvolution(shape, CodeType::kUint8, {}, OutputType::kUint8);
    CHECK(convolution.ok()) << convolution.status();
    convolution_ = *std::move(convolution);
    filters_ = Packed(*convolution_, std::vector<int8_t>(shape.filter_size(), 1));
  }

  int Run(int runs) {
    for (int run = 0; run < runs; ++run) {
      convolution_->Run({x_, filters_, scales_}, absl::MakeSpan(y_));
    }
    return runs;
  }

 private:
  std::vector<uint8_t> x_;
  std::vector<uint8_t> y_;
  std::vector<float> scales_;
  std::unique_ptr<IntegerSums> convolution_;
  std::vector<uint8_t> filters_;
};

// The same for codes of 16 bits, whose results are floats.
class WideConvolution {
 public:
  explicit WideConvolution(const ConvolutionShape& shape)
      : x_(shape.input_size(), INT16_MAX), y_(shape.output_size()), scales_(shape.filters, 1) {
    auto convolution = WideSums::Plan(shape, {});
    CHECK(convolution.ok()) << convolution.status();
    convolution_ = *std::move(convolution);
    filters_ = Packed(*convolution_, std::vector<int16_t>(shape.filter_size(), INT16_MAX));
  }

  int Run(int runs) {
    for (int run = 0; run < runs; ++run) {
      convolution_->Run({x_, filters_, scales_}, absl::MakeSpan(y_));
    }
    return runs;
  }

 private:
  std::vector<int16_t> x_;
  std::vector<float> y_;
  std::vector<float> scales_;
  std::unique_ptr<WideSums> convolution_;
  std::vector<uint8_t> filters_;
};

}  // namespace

KernelSpeeds MeasureKernelSpeeds() {
  const ConvolutionShape layer = Shape(/*channels=*/64, /*size=*/28);
  FloatConvolution floats(layer);
  CodeConvolution codes(layer);
  WideConvolution wide(layer);
  FloatConvolution tiny(Shape(/*channels=*/16, /*size=*/1));
  const auto [float_runs, code_runs] =
      BestRates([&] { return floats.Run(2); }, [&] { return codes.Run(2); });
  KernelSpeeds speeds;
  speeds.float_operations = OperationsOf(layer) * float_runs;
  speeds.integer_operations = OperationsOf(layer) * code_runs;
  speeds.wide_operations = OperationsOf(layer) * BestRate([&] { return wide.Run(2); });
  speeds.bytes = CopyRate(ThisMachine().bytes_beyond_caches(), 1);
  speeds.cached_bytes = CopyRate(ThisMachine().near_bytes(), 64);
  speeds.start = 1 / BestRate([&] { return tiny.Run(kTinyRuns); });
  return speeds;
}

}  // namespace fixpoint::kernels
