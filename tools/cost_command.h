// `inspect cost`: what a program will take, before anything is trained or quantized.

#ifndef FIXPOINT_TOOLS_COST_COMMAND_H_
#define FIXPOINT_TOOLS_COST_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/data_source.h"
#include "tools/command_line.h"

namespace fixpoint {

class Extensions;

// The extents of an input of a program.
struct NamedShape {
  std::string name;
  // The first extent as the lengths of sequences, for each level, outermost first: a level of one
  // number where there are none.
  std::vector<std::vector<int64_t>> lengths;
  std::vector<int64_t> dims;
};

// Parses "x=1x3x224x224, words=5+7+3x1, text=2+1/5+7+3x1": three sequences of 5, 7 and 3 rows of
// one number, and the same as two and one sequences. Returns a usage error if it is no such list.
absl::StatusOr<std::vector<NamedShape>> ParseShapes(const std::string& shapes);

struct CostCommand {
  std::string program;
  std::string config;
  std::string target;
  std::string quantizers;  // files, comma separated, beside the built-in ones
  int64_t batch_size = 1;
  std::vector<NamedShape> shapes;  // where they are not as declared with the batch size
  std::optional<DataSource> data;  // whose first batch gives shapes and lengths of sequences
  std::vector<std::string>
      fetches;  // what to compute; none: what the program fetches, or the scores
  bool json = false;
  const Extensions* extensions = nullptr;  // not null: quantizers and checks beside the built-in
};

absl::StatusOr<ExitCode> RunCostCommand(const CostCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COST_COMMAND_H_
