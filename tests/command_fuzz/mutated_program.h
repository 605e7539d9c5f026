// Programs with changes that a broken converter, an old release or an attacker could have made.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_PROGRAM_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_PROGRAM_H_

#include "proto/wire/program.pb.h"
#include "tests/testing/random_program.h"

namespace fixpoint {

// Makes `count` changes: ops removed, repeated, moved, retyped; slots, arguments and attributes
// changed, dropped or taken from another op; declarations of another shape, type or kind; names
// exchanged; blocks with another parent or run by another op; or any single field.
void MutateProgram(int count, Random* random, ProgramDesc* program);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_PROGRAM_H_
