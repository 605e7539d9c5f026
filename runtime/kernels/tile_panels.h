// Sums of products of codes by the loops of tile_loops.h: how weights are packed, where the codes
// of inputs lie, and what is shared out to threads.

#ifndef FIXPOINT_RUNTIME_KERNELS_TILE_PANELS_H_
#define FIXPOINT_RUNTIME_KERNELS_TILE_PANELS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "runtime/kernels/integer_sums.h"
#include "runtime/kernels/packed_form.h"
#include "runtime/kernels/packing.h"
#include "runtime/kernels/sums_problem.h"
#include "runtime/kernels/tile_loops.h"

namespace fixpoint::kernels {

class TilePanels : public PacksWeights<int8_t>, public HasPackedForm {
 public:
  TilePanels(CodesOf codes, const SumsProblem& problem);

  // Packed weights begin with their sums, [matrix, channel].
  virtual int64_t sum_count() const = 0;
  absl::Span<const int32_t> SumsOfWeights(absl::Span<const uint8_t> packed) const {
    return {reinterpret_cast<const int32_t*>(packed.data()), static_cast<size_t>(sum_count())};
  }

  // The first element of the output that a panel gives, its channel, and which of all sums of
  // weights it has.
  struct Place {
    int64_t element;
    int64_t channel;
    int64_t sum;
  };
  // Calls multiply(panel, place) for all panels, from several threads. They have no offsets.
  virtual void ForEachPanel(const SumOperands& operands,
                            absl::FunctionRef<void(const TilePanel&, const Place&)> multiply) = 0;

  // The loops that read the panels.
  const TileLoops& loops() const { return loops_; }
  CodesOf codes() const { return codes_; }
  // The unsigned code of a 0.
  uint8_t ZeroOf(const SumOperands& operands) const {
    return static_cast<uint8_t>(shift() + operands.zero_point);
  }
  uint8_t shift() const { return shift_; }
  int64_t input_size() const { return input_size_; }
  int64_t output_size() const { return output_size_; }
  int64_t channels() const { return channels_; }

 private:
  const CodesOf codes_;
  const TileLoops& loops_;
  const uint8_t shift_;
  const int64_t input_size_;
  const int64_t output_size_;
  const int64_t channels_;
};

// For products, and convolutions of one group or several.
std::unique_ptr<TilePanels> PlanSharedTiles(const SumsProblem& problem);
// For depthwise convolutions without a dilation of rows.
std::unique_ptr<TilePanels> PlanDepthwiseTiles(const SumsProblem& problem);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TILE_PANELS_H_
