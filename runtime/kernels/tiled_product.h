// Products of any number of rows in tiles of few sizes, so that a new number of more than 16 rows
// compiles nothing, and one of fewer only once (many_shapes.h). A row of a product depends on no other row, and each element is a sum
// over the inner extent in one order, so that tiles give the bits of the whole.

#ifndef FIXPOINT_RUNTIME_KERNELS_TILED_PRODUCT_H_
#define FIXPOINT_RUNTIME_KERNELS_TILED_PRODUCT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/product.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

// Whether a product of that shape is known to have the same bits in tiles. No batches, because
// their weights are not packed once.
bool HasTiles(const ProductShape& shape);

// `adds_to_output`: the only kAddElement stage adds the elements that are already in `out`, and its
// operand is not read. Errors: those of Planned (onednn.h); kUnimplemented: oneDNN's kernel is
// another one than that of the whole. REQUIRES: HasTiles.
absl::StatusOr<std::unique_ptr<Product>> PlanTiledProduct(const ProductShape& shape,
                                                          const Epilogue& epilogue,
                                                          bool adds_to_output = false);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TILED_PRODUCT_H_
