// The programs that are mutated, with what belongs to them.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_SEED_PROGRAMS_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_SEED_PROGRAMS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/wire/program.pb.h"
#include "runtime/scope.h"

namespace fixpoint {

struct SeedProgram {
  std::string name;
  ProgramDesc program;
  std::optional<ProgramDesc> startup;
  Scope parameters;                             // those whose values matter; the rest is made up
  std::map<std::string, std::string> settings;  // of a golden: "mode", "config", "fetches", ...
};

struct Seeds {
  std::vector<SeedProgram> examples;   // examples/data
  std::vector<SeedProgram> goldens;    // tests/golden
  std::vector<SeedProgram> reference;  // real ones; none where the reference data is absent
  std::vector<std::string> configs;    // protobuf text
  std::vector<std::string> targets;    // likewise
};

// Reads them from the runfiles, in which the process stands.
Seeds LoadSeeds(bool with_reference);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_SEED_PROGRAMS_H_
