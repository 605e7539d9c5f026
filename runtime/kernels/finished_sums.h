// Sums that are added up as integers and then finished by loops: what oneDNN's primitives do not
// do, or do not do exactly, is done so on every machine.

#ifndef FIXPOINT_RUNTIME_KERNELS_FINISHED_SUMS_H_
#define FIXPOINT_RUNTIME_KERNELS_FINISHED_SUMS_H_

#include <memory>

#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/finish_sums.h"
#include "runtime/kernels/input_sums.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/plain_sums.h"

namespace fixpoint::kernels {

// `input_sums` is null where weights have no zero points. Throws std::bad_alloc.
std::unique_ptr<IntegerSums> FinishedSums(std::unique_ptr<PlainSums> sums, const SumCoding& coding,
                                          int64_t input_size, const SumsShape& shape,
                                          std::unique_ptr<InputSums> input_sums,
                                          const Epilogue& epilogue, OutputType output);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FINISHED_SUMS_H_
