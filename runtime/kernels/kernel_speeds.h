// The fraction of the machine's peaks (peaks.h) that kernels reach, measured: it predicts the time
// of a plan that has not run.

#ifndef FIXPOINT_RUNTIME_KERNELS_KERNEL_SPEEDS_H_
#define FIXPOINT_RUNTIME_KERNELS_KERNEL_SPEEDS_H_

namespace fixpoint::kernels {

// For one thread, with the instructions that kernels use here (instruction_set.h).
struct KernelSpeeds {
  // Multiplications and additions per second, for a convolution that suits them: 3x3, from 64
  // channels to 64. For floats, and for codes of 8 bits and of 16, in whichever way sums of these
  // are exact on this machine.
  double float_operations = 0;
  double integer_operations = 0;
  double wide_operations = 0;
  // Bytes per second, read and written: for a copy beyond every cache, and within the second-level
  // cache.
  double bytes = 0;
  double cached_bytes = 0;
  // Seconds that a minimal convolution takes: the overhead of a step.
  double start = 0;
};

// Takes about a tenth of a second.
KernelSpeeds MeasureKernelSpeeds();

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_KERNEL_SPEEDS_H_
