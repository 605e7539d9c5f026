#include "runtime/kernels/many_shapes.h"

#include <utility>

namespace fixpoint::kernels {
namespace {

thread_local bool are_for_many_shapes = false;

}  // namespace

ManyShapes::ManyShapes(bool is_wanted) : outer_(std::exchange(are_for_many_shapes, is_wanted)) {}

ManyShapes::~ManyShapes() { are_for_many_shapes = outer_; }

bool AreForManyShapes() { return are_for_many_shapes; }

}  // namespace fixpoint::kernels
