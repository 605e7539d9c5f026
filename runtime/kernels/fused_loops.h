// Several loops over elements as one pass over memory: all of them run on a block of the elements,
// which stays in the cache, and then on the next. The bits are those of the loops one by one.

#ifndef FIXPOINT_RUNTIME_KERNELS_FUSED_LOOPS_H_
#define FIXPOINT_RUNTIME_KERNELS_FUSED_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernels/element_loop.h"

namespace fixpoint::kernels {

// Tensors are named by their number in FusedLoops.
struct FusedLoop {
  struct Operand {
    int tensor;
    Repetition repetition;
  };
  std::vector<Operand> operands;
  // What it writes, an element for each; with a fold, what the terms, floats, are combined into.
  int result;
  std::optional<Folding> folding;
  BlockLoop run;
  // Elements that it computes together. A loop of longer rows than 1 gets tensors that repeat
  // whole.
  int64_t row = 1;
};

struct FusedTensor {
  int64_t bytes_of_element;
  bool is_held;  // in memory; else only loops here read it, all its elements, after one has written
};

class FusedLoops {
 public:
  // The most of one object. What blocks and sums take lies on the stack.
  static constexpr size_t kMostLoops = 32;
  static constexpr size_t kMostFolds = 8;
  static constexpr size_t kMostOperands = 8;  // of a loop
  static constexpr size_t kMostTensors = kMostLoops * (kMostOperands + 1);

  // Whether a block can have rows of so many elements, of the given number of values.
  static bool HoldsRows(int64_t row, int64_t values);

  // REQUIRES: loops that each compute `size` elements, in an order in which they may run; tensors
  // that a fold writes are held, and no loop reads them; all folds have as many places; floats
  // repeat, or single elements of any type; rows that are longer than 1 are of equal length, a
  // block holds them (the values: each result, and each tensor that a loop repeats), and nothing is
  // folded beside them.
  FusedLoops(int64_t size, const std::vector<FusedTensor>& tensors, std::vector<FusedLoop> loops);
  FusedLoops(const FusedLoops&) = delete;
  FusedLoops& operator=(const FusedLoops&) = delete;

  // `addresses` are those of the tensors that are held. Tensors may be the same memory, where no
  // loop reads an element of one after a loop has written it as that of the other.
  void Run(absl::Span<uint8_t* const> addresses) const;

  // As LoopsName says (vectorised.h).
  std::string implementation() const;

 private:
  // Where a loop finds an operand of a block, or writes its result.
  struct Source {
    enum class Kind { kHeld, kWhole, kScratch };
    Kind kind;
    int at;  // the tensor, or the part of the scratch memory
    int64_t bytes_of_element;
    int64_t size = 0;  // of what is whole
  };
  // What is done for each block, in order.
  struct Stage {
    const BlockLoop* run;  // null: the first source is repeated
    std::vector<Source> sources;
    Source target;
    Repetition repetition = {};
    int fold = -1;  // that takes up what the target holds
  };
  struct FoldInto {
    Folding folding;
    int tensor;
  };
  class StageMaker;

  template <typename FoldTerms>
  void RunStages(absl::Span<uint8_t* const> addresses, int64_t begin, int64_t count,
                 FoldTerms fold_terms) const;
  void RunBlocks(absl::Span<uint8_t* const> addresses, int64_t begin, int64_t end) const;
  void FoldRun(absl::Span<uint8_t* const> addresses, int64_t begin, int64_t end,
               absl::Span<double> folded) const;
  void FoldShortRuns(absl::Span<uint8_t* const> addresses, int64_t first, int64_t end) const;
  void FoldAll(absl::Span<uint8_t* const> addresses) const;
  void FoldPlaces(absl::Span<uint8_t* const> addresses) const;
  void Finish(absl::Span<uint8_t* const> addresses, int fold, int64_t place, double folded) const;

  const int64_t size_;
  const std::vector<FusedLoop> loops_;
  std::vector<Stage> stages_;
  std::vector<FoldInto> folds_;
  int64_t row_ = 1;            // the longest of a loop
  int64_t bytes_of_each_ = 0;  // that the loops read and write for an element
  int64_t bytes_of_part_ = 0;  // of the scratch memory
  int64_t block_ = 0;          // elements
};

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_FUSED_LOOPS_H_
