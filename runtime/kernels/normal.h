// A normalized element, before the scale and the bias.

#ifndef FIXPOINT_RUNTIME_KERNELS_NORMAL_H_
#define FIXPOINT_RUNTIME_KERNELS_NORMAL_H_

#include <cmath>

namespace fixpoint::kernels {

// (x - mean) / sqrt(variance + epsilon), for any floats. It uses quarters of x and of the mean, so
// that their difference does not overflow, and 4 / deviation, which is normal where 1 / deviation
// is not. The mean is two floats, for elements that are all near it.
class Normal {
 public:
  Normal() = default;
  Normal(double mean, double variance, float epsilon)
      : quarter_of_mean_(0.25f * static_cast<float>(mean)),
        rest_of_mean_(static_cast<float>(0.25 * mean - static_cast<double>(quarter_of_mean_))),
        four_by_deviation_(static_cast<float>(4 / std::sqrt(variance + epsilon))) {}

  float operator()(float x) const {
    return (0.25f * x - quarter_of_mean_ - rest_of_mean_) * four_by_deviation_;
  }
  float InverseDeviation() const { return 0.25f * four_by_deviation_; }

 private:
  float quarter_of_mean_ = 0;
  float rest_of_mean_ = 0;  // of the quarter
  float four_by_deviation_ = 0;
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_NORMAL_H_
