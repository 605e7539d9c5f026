// Tables that rank sequences by their lengths.

#ifndef FIXPOINT_RUNTIME_EXECUTOR_OPS_RANK_TABLES_H_
#define FIXPOINT_RUNTIME_EXECUTOR_OPS_RANK_TABLES_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace fixpoint::executor {

// Attached to a value that lod_rank_table writes, by shared pointer.
struct RankTable {
  struct Ranked {
    int64_t sequence;
    int64_t begin;  // row
    int64_t length;
  };
  std::vector<Ranked> sequences;  // longest first
  int64_t rows = 0;

  int64_t CountLongerThan(int64_t step) const;
  int64_t steps() const { return sequences.empty() ? 0 : sequences.front().length; }
};

}  // namespace fixpoint::executor

#endif  // FIXPOINT_RUNTIME_EXECUTOR_OPS_RANK_TABLES_H_
