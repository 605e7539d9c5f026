// The convolutions of a training step of ResNet-20 (32x32 images, batch 128): forward in floats,
// forward on integers with all that quantizing adds, and the gradients:
//
//   OMP_NUM_THREADS=1 ./bazelw run --config=opt //benchmarks:convolution_benchmark
//
// Milliseconds of one thread's processor time, medians of rounds in which all take turns, and the
// ratio of a step with integers forward to one of floats.

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/fake_quantize.h"
#include "runtime/kernels/integer_convolution.h"

namespace fixpoint::kernels {
namespace {

constexpr int kRounds = 7;

double ProcessorMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

std::vector<float> Waves(int64_t size) {
  std::vector<float> values(size);
  for (int64_t i = 0; i < size; ++i) values[i] = 0.5f + 0.5f * std::sin(static_cast<float>(i));
  return values;
}

// One layer, and what it costs.
class Layer {
 public:
  Layer(int64_t channels, int64_t filters, int64_t size, int64_t stride) {
    shape_.batch = 128;
    shape_.channels = channels;
    shape_.height = shape_.width = size;
    shape_.filters = filters;
    shape_.window = {WindowAxis{3, stride, 1, 1, 1}, WindowAxis{3, stride, 1, 1, 1}};
    CHECK(CompleteShape(&shape_).ok());
    forward_ = *ConvolutionForward::Plan(shape_);
    backward_images_ = *ConvolutionBackwardImages<float>::Plan(shape_);
    backward_filters_ = *ConvolutionBackwardFilters<float>::Plan(shape_);
    integers_ = *PlanIntegerConvolution(shape_, CodeType::kUint8);
    x_ = Waves(shape_.input_size());
    filters_ = Waves(shape_.filter_size());
    y_ = Waves(shape_.output_size());
    dx_.resize(x_.size());
    dfilters_.resize(filters_.size());
    work_.resize(backward_filters_->work_bytes());
    codes_.resize(x_.size());
    filter_codes_.resize(filters_.size());
    ranges_.resize(filters);
    scales_.resize(filters);
  }

  enum Part { kForward, kQuantize, kIntegers, kImages, kFilters, kParts };

  void Run(bool is_first, std::array<double, kParts>& times) {
    const auto time = [&times](Part part, auto run) {
      const double start = ProcessorMilliseconds();
      run();
      times[part] += ProcessorMilliseconds() - start;
    };
    time(kForward, [&] { forward_->Run(x_, Packed(*forward_, filters_), {}, absl::MakeSpan(y_)); });
    time(kQuantize, [&] { Quantize(); });
    time(kIntegers, [&] { integers_->Run({codes_, packed_codes_, scales_}, absl::MakeSpan(y_)); });
    // Nobody wants the gradient of the image.
    if (!is_first) {
      time(kImages, [&] {
        backward_images_->Run(y_, Packed(*backward_images_, filters_), absl::MakeSpan(dx_));
      });
    }
    time(kFilters,
         [&] { backward_filters_->Run(x_, y_, absl::MakeSpan(work_), absl::MakeSpan(dfilters_)); });
  }

 private:
  // The range of x, its codes and, in place, its values; the same of the filters, by filter.
  void Quantize() {
    const Channels all = {1, 1, shape_.input_size()};
    const CodeRange unsigned_codes = SymmetricCodes(9, QuantSpec::HALF_TO_EVEN);
    float range = 0;
    FindRanges(x_, all, absl::MakeSpan(&range, 1));
    QuantizeDequantize(x_, {range}, all, unsigned_codes, absl::MakeSpan(x_),
                       absl::MakeSpan(codes_));
    const Channels by_filter = {1, shape_.filters, shape_.taps()};
    FindRanges(filters_, by_filter, absl::MakeSpan(ranges_));
    QuantizeDequantize(filters_, ranges_, by_filter, {}, absl::MakeSpan(filters_),
                       absl::MakeSpan(filter_codes_));
    packed_codes_ = Packed(*integers_, filter_codes_);
    for (size_t f = 0; f < scales_.size(); ++f) scales_[f] = range / 255 * (ranges_[f] / 127);
  }

  ConvolutionShape shape_;
  std::unique_ptr<ConvolutionForward> forward_;
  std::unique_ptr<ConvolutionBackwardImages<float>> backward_images_;
  std::unique_ptr<ConvolutionBackwardFilters<float>> backward_filters_;
  std::unique_ptr<IntegerSums> integers_;
  std::vector<float> x_, filters_, y_, dx_, dfilters_, ranges_, scales_;
  std::vector<uint8_t> codes_, packed_codes_, work_;
  std::vector<int8_t> filter_codes_;
};

void Main() {
  std::vector<Layer> layers;
  layers.emplace_back(3, 16, 32, 1);
  for (int i = 0; i < 6; ++i) layers.emplace_back(16, 16, 32, 1);
  layers.emplace_back(16, 32, 32, 2);
  for (int i = 0; i < 5; ++i) layers.emplace_back(32, 32, 16, 1);
  layers.emplace_back(32, 64, 16, 2);
  for (int i = 0; i < 5; ++i) layers.emplace_back(64, 64, 8, 1);

  std::array<std::vector<double>, Layer::kParts> rounds;
  for (int round = 0; round < kRounds; ++round) {
    std::array<double, Layer::kParts> times = {};
    for (size_t i = 0; i < layers.size(); ++i) layers[i].Run(i == 0, times);
    for (int part = 0; part < Layer::kParts; ++part) rounds[part].push_back(times[part]);
  }
  std::array<double, Layer::kParts> medians;
  for (int part = 0; part < Layer::kParts; ++part) {
    std::nth_element(rounds[part].begin(), rounds[part].begin() + kRounds / 2, rounds[part].end());
    medians[part] = rounds[part][kRounds / 2];
  }
  const char* const kNames[] = {"forward, floats", "ranges, codes, values", "forward, integers",
                                "gradient of images", "gradient of filters"};
  for (int part = 0; part < Layer::kParts; ++part) {
    std::printf("%-26s %8.1f ms\n", kNames[part], medians[part]);
  }
  const double backward = medians[Layer::kImages] + medians[Layer::kFilters];
  const double floats = medians[Layer::kForward] + backward;
  const double integers = medians[Layer::kQuantize] + medians[Layer::kIntegers] + backward;
  std::printf("%-26s %8.3f\n", "with integers : floats", integers / floats);
}

}  // namespace
}  // namespace fixpoint::kernels

int main() { fixpoint::kernels::Main(); }
