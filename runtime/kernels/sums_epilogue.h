// The epilogue of sums that were stored as integers (plain_sums.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_SUMS_EPILOGUE_H_
#define FIXPOINT_RUNTIME_KERNELS_SUMS_EPILOGUE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/folded_epilogue.h"

namespace fixpoint::kernels {

// Sums, and the terms that each of them still lacks:
//   offset of the channel - zero point of the channel * sum of the inputs of its group.
struct StoredSums {
  const int32_t* sums;     // [matrix, row, channel]
  const int32_t* offsets;  // [matrix, channel]
  // Null where weights have none.
  const int32_t* zero_points;  // [channel]
  const int32_t* input_sums;   // [matrix, row, group], of inputs less their zero point
};

struct SumsShape {
  int64_t matrices;
  int64_t rows;  // of a matrix; of images, their pixels
  int64_t channels;
  int64_t groups = 1;

  int64_t size() const { return matrices * rows * channels; }
};

class SumsEpilogue {
 public:
  SumsEpilogue(const SumsShape& shape, const Epilogue& epilogue, OutputType output);

  // float(sum and what it lacks) * scale, and the epilogue. The sums may lie where `out` does.
  void Run(const StoredSums& sums, absl::Span<const float> scales, EpilogueOperands operands,
           Output out);

 private:
  void RunLanes(const StoredSums& sums, const float* scales, EpilogueOperands operands,
                Output out) const;
  void RunBlocks(const StoredSums& sums, const float* scales, EpilogueOperands operands,
                 Output out);

  const SumsShape shape_;
  const Epilogue epilogue_;
  const OutputType output_;
  const std::optional<FoldedEpilogue> folded_;
  const bool has_lanes_;  // instructions for vectors of sums
  const int threads_;
  const int64_t block_rows_;
  std::vector<std::vector<float>> elements_;  // of a block, of each thread
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_SUMS_EPILOGUE_H_
