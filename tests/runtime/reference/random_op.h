// Programs of one op with arbitrary inputs and attributes, few of which are valid.

#ifndef FIXPOINT_TESTS_RUNTIME_REFERENCE_RANDOM_OP_H_
#define FIXPOINT_TESTS_RUNTIME_REFERENCE_RANDOM_OP_H_

#include "ops/op_schema.h"
#include "proto/wire/program.pb.h"
#include "runtime/scope.h"
#include "tests/testing/random_program.h"

namespace fixpoint::reference {

// A program of either era with an op of that type. Its inputs are in the scope afterwards.
ProgramDesc RandomOpProgram(Random& random, const OpSchema& schema, Scope* scope);

}  // namespace fixpoint::reference

#endif  // FIXPOINT_TESTS_RUNTIME_REFERENCE_RANDOM_OP_H_
