#include "runtime/kernels/tile_panels.h"

#include <variant>

#include "runtime/kernels/convolution_shape.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {
namespace {

const TileLoops& BestTileLoops() {
  switch (BestProductSet()) {
    case ProductSet::kAvx512Vnni:
      return kTileLoopsAvx512Vnni;
    case ProductSet::kAvxVnni:
      return MimicsAvxVnni() ? kTileLoopsAvx512VlVnni : kTileLoopsAvxVnni;
    case ProductSet::kPairsOfAvx512:
      return kTileLoopsAvx512;
    case ProductSet::kPairsOfAvx2:
    case ProductSet::kNone:
      break;
  }
  return kTileLoopsAvx2;
}

int64_t InputSize(const ConvolutionShape& shape) { return shape.input_size(); }
int64_t InputSize(const ProductShape& shape) { return shape.x_size(); }
int64_t OutputSize(const ConvolutionShape& shape) { return shape.output_size(); }
int64_t OutputSize(const ProductShape& shape) { return shape.out_size(); }
int64_t Channels(const ConvolutionShape& shape) { return shape.filters; }
int64_t Channels(const ProductShape& shape) { return shape.columns; }

}  // namespace

TilePanels::TilePanels(CodesOf codes, const SumsProblem& problem)
    : codes_(codes),
      loops_(BestTileLoops()),
      shift_(ShiftToUnsigned(problem.coding.inputs.type)),
      input_size_(std::visit([](const auto& shape) { return InputSize(shape); }, problem.shape)),
      output_size_(std::visit([](const auto& shape) { return OutputSize(shape); }, problem.shape)),
      channels_(std::visit([](const auto& shape) { return Channels(shape); }, problem.shape)) {}

}  // namespace fixpoint::kernels
