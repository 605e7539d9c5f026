// What must hold for a transpile, whatever the program and the configuration.

#ifndef FIXPOINT_TESTS_PROPERTY_TRANSPILE_PROPERTY_H_
#define FIXPOINT_TESTS_PROPERTY_TRANSPILE_PROPERTY_H_

#include <cstdint>
#include <string>

#include "proto/config/quant_config.pb.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct TranspileCase {
  ProgramDesc program;
  QuantConfig config;
  std::string pipeline;
};

// A random program and a random configuration that can be met.
TranspileCase RandomTranspileCase(uint64_t seed);

// The first property that does not hold, "undo: ..." with how; "" where all hold:
//   text       printing and parsing gives the program back
//   transpile  succeeds
//   verifies   without an error, as before
//   computes   the same is computed as before, quantization apart (computation.h)
//   quantizes  the slots that the plan names, and no others, read something new
//   startup    every persistable is initialised once
//   again      a second transpile changes nothing, and says so
//   plan       following the saved plan gives the same bytes
//   undo       gives the bytes of before; of a program that was saved and loaded, too
//   marks      undo without the edit log gives a program without a difference
// Where remove_identities comes first, those that compare op by op are not asked: computes,
// quantizes, marks.
std::string FirstBrokenProperty(const TranspileCase& tried);

// The case of a seed, as a report of what does not hold: the seed, the configuration, and the
// program made as small as it gets. "" where all hold.
std::string ReportOfSeed(uint64_t seed);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_PROPERTY_TRANSPILE_PROPERTY_H_
