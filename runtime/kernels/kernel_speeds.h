// What kernels reach of the machine's peaks (peaks.h), measured: what the time of a plan that has
// not run is expected from.

#ifndef FIXPOINT_RUNTIME_KERNELS_KERNEL_SPEEDS_H_
#define FIXPOINT_RUNTIME_KERNELS_KERNEL_SPEEDS_H_

namespace fixpoint::kernels {

// Of one thread, with the instructions that kernels use here (instruction_set.h).
struct KernelSpeeds {
  // Multiplications and additions per second, of a convolution that suits them: 3x3, of 64 channels
  // to 64. Of floats, and of codes, in whichever way sums of these are exact on this machine.
  double float_operations = 0;
  double integer_operations = 0;
  // Bytes per second, read and written: of a copy beyond every cache, and within the second.
  double bytes = 0;
  double cached_bytes = 0;
  // Seconds of a convolution of almost nothing: what a step takes beside its work.
  double start = 0;
};

// Takes about a tenth of a second.
KernelSpeeds MeasureKernelSpeeds();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_KERNEL_SPEEDS_H_
