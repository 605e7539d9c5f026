// Averages of codes that are held in 8 bits: whether their sums are computed on integers. In
// lowered programs integer ops say it; the executor plans it for every program.

#ifndef FIXPOINT_OPS_CODES_AVERAGED_CODES_H_
#define FIXPOINT_OPS_CODES_AVERAGED_CODES_H_

#include <array>
#include <cstdint>

#include "ops/op_form.h"

namespace fixpoint {

// Whether 32 bits hold the sum of codes over each window of a pool2d, by its attributes and the
// height and width of its images. True where one is below 1, as an unknown one is: a run knows it.
bool SumsOfWindowsFit(const OpAttributes& pooling, const std::array<int64_t, 2>& image);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_AVERAGED_CODES_H_
