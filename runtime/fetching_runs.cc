#include "runtime/fetching_runs.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"

namespace fixpoint {

std::vector<int> FetchingRunsOf(const Program& program, absl::Span<const std::string> names) {
  absl::flat_hash_map<absl::string_view, int> depths;  // of the last write of a name
  for (const Op& op : program.block(0).ops()) {
    int depth = 0;
    for (const Argument* input : op.inputs()) {
      const auto found = depths.find(input->name());
      if (found != depths.end()) depth = std::max(depth, found->second + 1);
    }
    for (const Argument* output : op.outputs()) depths[output->name()] = depth;
  }
  std::vector<int> runs;
  runs.reserve(names.size());
  for (const std::string& name : names) {
    const auto found = depths.find(name);
    runs.push_back(found == depths.end() ? 0 : found->second % kFetchingRuns);
  }
  return runs;
}

}  // namespace fixpoint
