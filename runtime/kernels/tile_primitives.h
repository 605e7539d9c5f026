// Products of a fixed number of rows, compiled once in a process. Any number of rows is computed in
// such tiles (tiled_product.h).

#ifndef FIXPOINT_RUNTIME_KERNELS_TILE_PRIMITIVES_H_
#define FIXPOINT_RUNTIME_KERNELS_TILE_PRIMITIVES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/product_shape.h"

namespace fixpoint::kernels {

struct TilePrimitive {
  dnnl::memory::desc x;
  dnnl::memory::desc weights;  // packed
  dnnl::memory::desc out;
  std::string packed_form;  // HasPackedForm
  std::string implementation;
  std::shared_ptr<const Primitive> primitive;
};

// The primitive of a product of one batch, created if there is none yet. `like`: the tile whose
// packed weights it reads; null: it chooses their layout. Throws dnnl::error. Threads that want the
// same one do not wait for each other: both create it, and one is kept.
std::shared_ptr<const TilePrimitive> FindOrCreateTile(const ProductShape& shape,
                                                      const Epilogue& epilogue, bool adds_to_output,
                                                      const TilePrimitive* like);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_TILE_PRIMITIVES_H_
