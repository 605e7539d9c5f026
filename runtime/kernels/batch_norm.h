// Batch normalization in training, with or without the relu after it, in loops of our own. Images
// lie channels last. The normalized values need not be stored: quantization and the gradient
// compute them again, as x * factor + addend for each channel.

#ifndef FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_H_
#define FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/bfloat16.h"
#include "runtime/kernels/fake_quantize.h"

namespace fixpoint::kernels {

// x [batch, channels, height, width]; normalised over all but the channels.
struct BatchNormShape {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t height = 1;
  int64_t width = 1;
  float epsilon = 1e-5f;
  enum class Relu { kNone, kOfNumbers, kKeepingNan };
  Relu relu = Relu::kNone;  // y is 0 where it is not above 0; a NaN is made 0 too, or kept

  int64_t rows() const { return batch * height * width; }
  int64_t size() const { return rows() * channels; }
};

// Each span has one element per channel. y = x * factor + addend, every operation rounded, where
// factor = scale / sqrt(variance + epsilon) and addend = bias - mean * factor.
struct BatchStatistics {
  absl::Span<float> mean;
  absl::Span<float> variance;           // the average of squares (biased); may be infinite
  absl::Span<float> inverse_deviation;  // 1 / sqrt(variance + epsilon), which then is not 0
  absl::Span<float> factors;
  absl::Span<float> addends;
};

// Each span has one element per channel. With g = dy where the relu passes it, dx = factor * (g -
// mean of g - (x - mean) * slope).
struct GradientStatistics {
  absl::Span<float> means;   // of g
  absl::Span<float> slopes;  // the mean of g * (x - mean), over variance + epsilon
};

// Sums over a few rows are in float, relative to the first of them, and sums of those are in
// double: the same bits on any number of threads. Not for two threads at once.
class BatchNorm {
 public:
  // Errors: those of CheckExtents (extents.h); kFailedPrecondition: no memory.
  static absl::StatusOr<std::unique_ptr<BatchNorm>> Plan(const BatchNormShape& shape);

  // Finds the statistics of x and, in the same pass, the largest absolute value of y, which is that
  // of a channel's largest or smallest x, because rounding keeps the order. A NaN does not count.
  // REQUIRES, here and below: x, y and their gradients have the shape's size, and all others one
  // element for each channel.
  void FindStatistics(absl::Span<const float> x, absl::Span<const float> scale,
                      absl::Span<const float> bias, const BatchStatistics& statistics,
                      float* range_of_y);

  // y may be x if the gradient is not needed.
  void Normalize(absl::Span<const float> x, const BatchStatistics& statistics, absl::Span<float> y);
  // The codes of y, as Quantize (fake_quantize.h) finds them. REQUIRES, for uint8_t: there is a
  // relu.
  void Normalize(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                 const CodeRange& rule, absl::Span<int8_t> codes);
  void Normalize(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                 const CodeRange& rule, absl::Span<uint8_t> codes);

  // What Backward needs from all of x and dy, and the gradients of scale and bias.
  void FindGradientStatistics(absl::Span<const float> x, absl::Span<const float> dy,
                              const BatchStatistics& statistics,
                              const GradientStatistics& of_gradient, absl::Span<float> dscale,
                              absl::Span<float> dbias);
  // dx may be dy.
  void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                const BatchStatistics& statistics, const GradientStatistics& of_gradient,
                absl::Span<float> dx);
  // The same in bfloat16: a float, times the multiplier of its channel, if there are any, and then
  // rounded.
  void Backward(absl::Span<const float> x, absl::Span<const float> dy,
                const BatchStatistics& statistics, const GradientStatistics& of_gradient,
                absl::Span<const float> multipliers, absl::Span<Bfloat16> dx);

  // The name that LoopsName (vectorised.h) gives.
  std::string implementation() const;

 private:
  explicit BatchNorm(const BatchNormShape& shape);

  // Values of channels, repeated for the several rows that form one wide row; stored at one of
  // several places.
  absl::Span<const float> Wide(int place, absl::Span<const float> of_channels);
  // Calls f(piece, first, end) with each piece's elements, as ParallelFor (parallel_for.h).
  template <typename F>
  void ForEachPiece(int64_t bytes_of_element, F f) const;
  // Calls f(place, size) with each of those rows, and with what is left.
  template <typename F>
  void ForEachWideRow(int64_t bytes_of_element, F f) const;
  // The statistics of a channel, in double, for values whose squares exceed the range of floats.
  void FindStatisticsOf(int64_t channel, absl::Span<const float> x, absl::Span<const float> scale,
                        absl::Span<const float> bias, const BatchStatistics& statistics) const;
  template <typename Store>
  void NormalizeAll(absl::Span<const float> x, const BatchStatistics& statistics, Store store);
  // Fills sums_ and products_ with the sums for the gradient.
  template <bool kHasRelu>
  void SumGradients(absl::Span<const float> x, absl::Span<const float> dy,
                    const BatchStatistics& statistics);
  template <typename Store>
  void BackwardAll(absl::Span<const float> x, absl::Span<const float> dy,
                   const BatchStatistics& statistics, const GradientStatistics& of_gradient,
                   Store store);
  template <typename Code>
  void NormalizeToCodes(absl::Span<const float> x, const BatchStatistics& statistics, float range,
                        const CodeRange& rule, absl::Span<Code> codes);

  const BatchNormShape shape_;
  const int64_t width_;   // of a wide row
  const int64_t pieces_;  // groups of wide rows; their sums are added in order
  // For each piece and channel.
  std::vector<double> sums_;
  std::vector<double> products_;
  std::vector<float> lowest_;
  std::vector<float> largest_;
  std::vector<float> wide_;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_BATCH_NORM_H_
