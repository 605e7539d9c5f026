#include "transpiler/report/page/run_view.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "transpiler/report/layers.h"

namespace fixpoint {

std::vector<Layer> MatchLayers(const std::vector<RunView>& runs) {
  struct Ranked {
    size_t rank = 0;  // among the layers of a run: the best that any run has
    Layer layer;
  };
  std::vector<Ranked> matched;
  // Of several ops with one type and output, the n-th matches the n-th.
  absl::flat_hash_map<std::string, size_t> by_key;
  for (size_t run = 0; run < runs.size(); ++run) {
    const RunReport& report = *runs[run].report;
    absl::flat_hash_map<std::string, int> seen;
    std::vector<std::string> keys(static_cast<size_t>(report.ops_size()));
    for (int i = 0; i < report.ops_size(); ++i) {
      const RunReport::Op& op = report.ops(i);
      std::string& key = keys[static_cast<size_t>(i)];
      key = absl::StrCat(op.type(), " ", op.output());
      absl::StrAppend(&key, " ", seen[key]++);
    }
    const std::vector<int> layers = LayersWorstFirst(report);
    for (size_t rank = 0; rank < layers.size(); ++rank) {
      const auto [found, is_new] =
          by_key.try_emplace(keys[static_cast<size_t>(layers[rank])], matched.size());
      if (is_new) matched.push_back({rank, {std::vector<int>(runs.size(), -1)}});
      Ranked& row = matched[found->second];
      row.rank = std::min(row.rank, rank);
      row.layer.ops[run] = layers[rank];
    }
  }
  std::stable_sort(matched.begin(), matched.end(),
                   [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  std::vector<Layer> layers;
  for (Ranked& row : matched) layers.push_back(std::move(row.layer));
  return layers;
}

std::string LayerId(const RunView& run, int op) { return absl::StrCat(run.prefix, "op-", op); }

}  // namespace fixpoint
