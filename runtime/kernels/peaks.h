// The machine's peak rates, measured, to compare a kernel's speed with.

#ifndef FIXPOINT_RUNTIME_KERNELS_PEAKS_H_
#define FIXPOINT_RUNTIME_KERNELS_PEAKS_H_

namespace fixpoint::kernels {

// For one thread.
struct Peaks {
  double float_operations = 0;  // per second: multiplications and additions of FP32
  // On 8 bits, with AVX-512 VNNI, or in pairs with AVX2; with neither, the rate of floats.
  double integer_operations = 0;
  double bytes = 0;  // per second, read and written, of tensors beyond every cache
};

// Takes about a tenth of a second.
Peaks MeasurePeaks();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_PEAKS_H_
