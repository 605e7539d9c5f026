#include "runtime/kernels/many_shapes.h"

#include <utility>

namespace fixpoint::kernels {
namespace {

thread_local uint64_t made = 0;
thread_local uint64_t current = 0;

}  // namespace

ManyShapes::ManyShapes(bool is_wanted) : outer_(std::exchange(current, is_wanted ? ++made : 0)) {}

ManyShapes::~ManyShapes() { current = outer_; }

bool AreForManyShapes() { return current != 0; }

uint64_t NumberOfManyShapes() { return current; }

}  // namespace fixpoint::kernels
