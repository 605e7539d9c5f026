// What a program computes, in symbols instead of numbers: an oracle for rewrites that shares no
// code with them.

#ifndef FIXPOINT_TESTS_PROPERTY_COMPUTATION_H_
#define FIXPOINT_TESTS_PROPERTY_COMPUTATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/wire/program.pb.h"

namespace fixpoint {

// One run of one op: what it is, and symbols of what it reads and writes, equal exactly where the
// ways in which the values came to be are.
struct OpRun {
  std::string op;  // type, slots and attributes
  std::vector<uint64_t> reads;
  std::vector<uint64_t> writes;

  bool operator==(const OpRun& other) const {
    return op == other.op && reads == other.reads && writes == other.writes;
  }
};

// Runs a program from its first op to its last: a loop twice, a conditional once, a gradient block
// once. Ops that Fixpoint inserted are no runs of their own: what simulates quantization hands on
// the symbol that it reads, as if it were not there. The marks and the names that a loop or
// conditional captures are no part of what an op is.
std::vector<OpRun> Compute(const ProgramDesc& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_PROPERTY_COMPUTATION_H_
