// Values for what a program reads and neither it nor a startup program writes.

#ifndef FIXPOINT_TESTS_RUNTIME_REFERENCE_MADE_UP_FEEDS_H_
#define FIXPOINT_TESTS_RUNTIME_REFERENCE_MADE_UP_FEEDS_H_

#include <cstdint>

#include "proto/program/program_fwd.h"
#include "runtime/scope.h"

namespace fixpoint::reference {

// Puts a tensor into the scope for each variable of block 0 that is fed: floating-point numbers in
// [-1, 1), integers 0 and 1, which are classes and words of every network. `batch` stands for an
// unknown dimension, or is the number of sequences, which have 2, 3, ... rows.
void MakeUpFeeds(const Program& program, int64_t batch, Scope* scope);

// Initialises the state of quantizers that the scope lacks, as the reference's passes of 2.x do,
// which write it there and not into a startup program: ranges 0.001, counts and sums 1, windows and
// step counters 0.
void InitialiseQuantizers(const Program& program, Scope* scope);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_TESTS_RUNTIME_REFERENCE_MADE_UP_FEEDS_H_
