#include "transpiler/exchange/nni_spec.h"

#include "absl/status/status.h"

namespace fixpoint {
namespace {

constexpr char kMovingRate[] = "moving_rate";
constexpr double kKept = 0.99;

}  // namespace

absl::StatusOr<QuantSpec> SpecOfNni(const NniSpec& nni) {
  QuantSpec spec;
  spec.set_bits(nni.bits);
  if (nni.is_per_channel && !nni.is_weight) {
    return absl::UnimplementedError(
        "ranges for each channel of an activation have no quantizer; want them per tensor");
  }
  if (!nni.is_affine) {
    if (nni.is_unsigned) {
      return absl::UnimplementedError(
          "codes without a sign have a zero point in the middle of them where the scheme is "
          "symmetric, which no quantizer has; want int, or an affine scheme");
    }
    spec.set_scheme(QuantSpec::SYMMETRIC);
    spec.set_signedness(QuantSpec::SIGNED);
    spec.set_granularity(nni.is_per_channel ? QuantSpec::PER_CHANNEL : QuantSpec::PER_TENSOR);
    if (nni.is_weight) {
      spec.set_quantizer(nni.is_per_channel ? "channel_wise_abs_max" : "abs_max");
    } else {
      spec.set_quantizer("moving_average_abs_max");
      (*spec.mutable_parameters())[kMovingRate] = kKept;
    }
    return spec;
  }
  if (!nni.is_unsigned) {
    return absl::UnimplementedError(
        "an affine scheme with int leaves one code unused, which no quantizer does; want uint, or "
        "a symmetric scheme");
  }
  spec.set_scheme(QuantSpec::AFFINE);
  if (nni.is_weight) {
    if (!nni.is_per_channel) {
      return absl::UnimplementedError(
          "weights with one zero point have no quantizer; want a symmetric scheme, or an affine "
          "one for each channel");
    }
    // The same steps: its codes are those of uint, less half their number.
    spec.set_quantizer("row_wise_min_max");
    spec.set_signedness(QuantSpec::SIGNED);
    spec.set_granularity(QuantSpec::PER_CHANNEL);
    return spec;
  }
  spec.set_quantizer("moving_average_min_max");
  spec.set_signedness(QuantSpec::UNSIGNED);
  spec.set_granularity(QuantSpec::PER_TENSOR);
  (*spec.mutable_parameters())[kMovingRate] = kKept;
  return spec;
}

}  // namespace fixpoint
