#include "transpiler/reduce.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace fixpoint {
namespace {

// Something that can be left out: of a block, and of what that holds.
struct Piece {
  int block;
  int index;
  int part = 0;  // of an op's attributes
};

// A list of pieces of a program, and how a program looks without some of them.
struct Kind {
  std::vector<Piece> (*list)(const ProgramDesc& program);
  // Removes one piece; those after it in the list are gone already.
  void (*remove)(ProgramDesc& program, const Piece& piece);
};

std::vector<Piece> ListOps(const ProgramDesc& program) {
  std::vector<Piece> pieces;
  for (int b = 0; b < program.blocks_size(); ++b) {
    for (int i = 0; i < program.blocks(b).ops_size(); ++i) pieces.push_back({b, i});
  }
  return pieces;
}

void RemoveOp(ProgramDesc& program, const Piece& piece) {
  program.mutable_blocks(piece.block)->mutable_ops()->DeleteSubrange(piece.index, 1);
}

std::vector<Piece> ListVariables(const ProgramDesc& program) {
  std::vector<Piece> pieces;
  for (int b = 0; b < program.blocks_size(); ++b) {
    for (int i = 0; i < program.blocks(b).vars_size(); ++i) pieces.push_back({b, i});
  }
  return pieces;
}

void RemoveVariable(ProgramDesc& program, const Piece& piece) {
  program.mutable_blocks(piece.block)->mutable_vars()->DeleteSubrange(piece.index, 1);
}

// Attributes that name blocks stay: without them an op is another op.
std::vector<Piece> ListAttributes(const ProgramDesc& program) {
  std::vector<Piece> pieces;
  for (int b = 0; b < program.blocks_size(); ++b) {
    for (int i = 0; i < program.blocks(b).ops_size(); ++i) {
      const OpDesc& op = program.blocks(b).ops(i);
      for (int a = 0; a < op.attrs_size(); ++a) {
        const AttrType type = op.attrs(a).type();
        if (type != AttrType::BLOCK && type != AttrType::BLOCKS) pieces.push_back({b, i, a});
      }
    }
  }
  return pieces;
}

void RemoveAttribute(ProgramDesc& program, const Piece& piece) {
  program.mutable_blocks(piece.block)
      ->mutable_ops(piece.index)
      ->mutable_attrs()
      ->DeleteSubrange(piece.part, 1);
}

class Reducer {
 public:
  Reducer(const ProgramDesc& program, const std::function<bool(const ProgramDesc&)>& fails,
          const ReduceOptions& options)
      : fails_(fails),
        deadline_(absl::Now() + absl::Seconds(options.seconds)),
        smallest_(program) {}

  ProgramDesc Run() {
    ReducePieces({ListOps, RemoveOp});
    RemoveLastBlocks();
    ReducePieces({ListVariables, RemoveVariable});
    ReducePieces({ListAttributes, RemoveAttribute});
    return std::move(smallest_);
  }

 private:
  bool Take(ProgramDesc candidate) {
    if (absl::Now() > deadline_ || !fails_(candidate)) return false;
    smallest_ = std::move(candidate);
    return true;
  }

  void ReducePieces(const Kind& kind) {
    std::vector<Piece> pieces = kind.list(smallest_);
    for (size_t chunk = pieces.size(); chunk > 0; chunk /= 2) {
      bool removed = true;
      // With single pieces, again until none can go.
      while (removed && absl::Now() <= deadline_) {
        removed = false;
        // From the end: what comes later is made of what comes earlier.
        for (size_t end = pieces.size(); end > 0;) {
          const size_t begin = end > chunk ? end - chunk : 0;
          ProgramDesc candidate = smallest_;
          for (size_t i = end; i > begin; --i) kind.remove(candidate, pieces[i - 1]);
          if (Take(std::move(candidate))) {
            pieces = kind.list(smallest_);
            removed = true;
          }
          end = std::min(begin, pieces.size());
        }
        if (chunk > 1) break;
      }
    }
  }

  // A block's number is its position, so only the last ones can go.
  void RemoveLastBlocks() {
    while (smallest_.blocks_size() > 1) {
      ProgramDesc candidate = smallest_;
      candidate.mutable_blocks()->RemoveLast();
      if (!Take(std::move(candidate))) return;
    }
  }

  const std::function<bool(const ProgramDesc&)>& fails_;
  const absl::Time deadline_;
  ProgramDesc smallest_;
};

}  // namespace

ProgramDesc Reduce(const ProgramDesc& program, const std::function<bool(const ProgramDesc&)>& fails,
                   const ReduceOptions& options) {
  return Reducer(program, fails, options).Run();
}

}  // namespace fixpoint
