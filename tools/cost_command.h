// `inspect cost`: what a program will take, before anything is trained or quantized.

#ifndef FIXPOINT_TOOLS_COST_COMMAND_H_
#define FIXPOINT_TOOLS_COST_COMMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line.h"

namespace fixpoint {

// The extents of what a program is fed.
struct NamedShape {
  std::string name;
  std::vector<int64_t> dims;
};

// "x=1x3x224x224, y=1x10". Error (of usage): it is no such list.
absl::StatusOr<std::vector<NamedShape>> ParseShapes(const std::string& shapes);

struct CostCommand {
  std::string program;
  std::string config;
  std::string target;
  int64_t batch_size = 1;
  std::vector<NamedShape> shapes;    // where they are not as the program says, with the batch size
  std::vector<std::string> fetches;  // what is computed; none: what the program fetches, or scores
  bool json = false;
};

absl::StatusOr<ExitCode> RunCostCommand(const CostCommand& command);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_COST_COMMAND_H_
