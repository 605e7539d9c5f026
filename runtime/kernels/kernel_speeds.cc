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

// Runs of a convolution of floats per second.
double FloatRuns(const ConvolutionShape& shape, int runs) {
  const auto convolution = ConvolutionForward::Plan(shape);
  CHECK(convolution.ok()) << convolution.status();
  const std::vector<float> x(shape.input_size(), 0.5f);
  std::vector<float> y(shape.output_size());
  const std::vector<uint8_t> filters =
      Packed(**convolution, std::vector<float>(shape.filter_size(), 0.5f));
  return BestRate([&] {
    for (int run = 0; run < runs; ++run) (*convolution)->Run(x, filters, {}, absl::MakeSpan(y));
    return runs;
  });
}

// The same of codes, between which a layer's results are stored.
double IntegerRuns(const ConvolutionShape& shape, int runs) {
  const auto convolution = PlanIntegerConvolution(shape, CodeType::kUint8, {}, OutputType::kUint8);
  CHECK(convolution.ok()) << convolution.status();
  const std::vector<uint8_t> x(shape.input_size(), 1);
  std::vector<uint8_t> y(shape.output_size());
  const std::vector<float> scales(shape.filters, 1.0f / 16);
  const std::vector<uint8_t> filters =
      Packed(**convolution, std::vector<int8_t>(shape.filter_size(), 1));
  return BestRate([&] {
    for (int run = 0; run < runs; ++run) {
      (*convolution)->Run(x, /*zero_point=*/0, filters, scales, {}, absl::MakeSpan(y));
    }
    return runs;
  });
}

}  // namespace

KernelSpeeds MeasureKernelSpeeds() {
  const ConvolutionShape layer = Shape(/*channels=*/64, /*size=*/28);
  KernelSpeeds speeds;
  speeds.float_operations = OperationsOf(layer) * FloatRuns(layer, 8);
  speeds.integer_operations = OperationsOf(layer) * IntegerRuns(layer, 8);
  speeds.bytes = CopyRate(size_t{64} << 20, 1);
  speeds.cached_bytes = CopyRate(size_t{128} << 10, 64);
  speeds.start = 1 / FloatRuns(Shape(/*channels=*/16, /*size=*/1), kTinyRuns);
  return speeds;
}

}  // namespace fixpoint::kernels
