// What benchmarks measure time with.

#ifndef FIXPOINT_BENCHMARKS_CLOCK_H_
#define FIXPOINT_BENCHMARKS_CLOCK_H_

namespace fixpoint {

// Processor time of the whole process, in seconds.
double CpuSeconds();
// By the clock, from whenever.
double WallSeconds();

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_CLOCK_H_
