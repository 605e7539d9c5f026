#include "transpiler/report/reduce.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace fixpoint {
namespace {

// A list in a program from which elements can be left out: in a block, or in one of its ops.
struct List {
  int block;
  int op;
};

// The place of an element of such a list.
struct Piece {
  List list;
  int index;
};

struct Ops {
  using Element = OpDesc;
  static std::vector<Piece> All(const ProgramDesc& program) {
    std::vector<Piece> pieces;
    for (int b = 0; b < program.blocks_size(); ++b) {
      for (int i = 0; i < program.blocks(b).ops_size(); ++i) pieces.push_back({{b, 0}, i});
    }
    return pieces;
  }
  static auto* Of(const List& list, ProgramDesc& program) {
    return program.mutable_blocks(list.block)->mutable_ops();
  }
};

struct Variables {
  using Element = VarDesc;
  static std::vector<Piece> All(const ProgramDesc& program) {
    std::vector<Piece> pieces;
    for (int b = 0; b < program.blocks_size(); ++b) {
      for (int i = 0; i < program.blocks(b).vars_size(); ++i) pieces.push_back({{b, 0}, i});
    }
    return pieces;
  }
  static auto* Of(const List& list, ProgramDesc& program) {
    return program.mutable_blocks(list.block)->mutable_vars();
  }
};

// Attributes that name blocks stay: without them an op is another op.
struct Attributes {
  using Element = OpDesc::Attr;
  static std::vector<Piece> All(const ProgramDesc& program) {
    std::vector<Piece> pieces;
    for (int b = 0; b < program.blocks_size(); ++b) {
      for (int i = 0; i < program.blocks(b).ops_size(); ++i) {
        const OpDesc& op = program.blocks(b).ops(i);
        for (int a = 0; a < op.attrs_size(); ++a) {
          const AttrType type = op.attrs(a).type();
          if (type != AttrType::BLOCK && type != AttrType::BLOCKS) pieces.push_back({{b, i}, a});
        }
      }
    }
    return pieces;
  }
  static auto* Of(const List& list, ProgramDesc& program) {
    return program.mutable_blocks(list.block)->mutable_ops(list.op)->mutable_attrs();
  }
};

// Removes pieces, in their order, from a program, without copying its elements.
template <typename Kind>
class TakenOut {
 public:
  using Element = typename Kind::Element;

  TakenOut(absl::Span<const Piece> pieces, ProgramDesc* program) : program_(*program) {
    while (!pieces.empty()) {
      const List list = pieces.front().list;
      size_t count = 1;
      while (count < pieces.size() && pieces[count].list.block == list.block &&
             pieces[count].list.op == list.op) {
        ++count;
      }
      Take(list, pieces.subspan(0, count));
      pieces.remove_prefix(count);
    }
  }

  void PutBack() {
    for (const auto& [list, elements] : before_) {
      auto* const now = Kind::Of(list, program_);
      while (!now->empty()) now->UnsafeArenaReleaseLast();
      for (Element* element : elements) now->AddAllocated(element);
    }
    for (std::unique_ptr<Element>& element : taken_) element.release();
  }

 private:
  void Take(const List& list, absl::Span<const Piece> pieces) {
    auto* const now = Kind::Of(list, program_);
    std::vector<Element*> elements(now->pointer_begin(), now->pointer_end());
    while (!now->empty()) now->UnsafeArenaReleaseLast();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (!pieces.empty() && pieces.front().index == static_cast<int>(i)) {
        taken_.emplace_back(elements[i]);
        pieces.remove_prefix(1);
      } else {
        now->AddAllocated(elements[i]);
      }
    }
    before_.emplace_back(list, std::move(elements));
  }

  ProgramDesc& program_;
  std::vector<std::pair<List, std::vector<Element*>>> before_;
  std::vector<std::unique_ptr<Element>> taken_;
};

class Reducer {
 public:
  Reducer(const ProgramDesc& program, const std::function<bool(const ProgramDesc&)>& fails,
          const ReduceOptions& options)
      : fails_(fails),
        deadline_(absl::Now() + absl::Seconds(options.seconds)),
        smallest_(program) {}

  ProgramDesc Run() {
    KeepOneQuarter<Ops>();
    LeaveOut<Ops>();
    RemoveLastBlocks();
    LeaveOut<Variables>();
    LeaveOut<Attributes>();
    return std::move(smallest_);
  }

 private:
  bool HasTime() const { return absl::Now() <= deadline_; }

  // Keeps only a quarter, as long as one fails. The failure is often in one place, and for a
  // program that takes long the smallest candidates are tried first.
  template <typename Kind>
  void KeepOneQuarter() {
    bool removed = true;
    while (removed) {
      removed = false;
      const std::vector<Piece> pieces = Kind::All(smallest_);
      const size_t quarter = pieces.size() / 4;
      for (size_t begin = 0; quarter > 0 && begin < pieces.size() && !removed; begin += quarter) {
        if (!HasTime()) return;
        const size_t end = std::min(begin + quarter, pieces.size());
        std::vector<Piece> others(pieces.begin(), pieces.begin() + begin);
        others.insert(others.end(), pieces.begin() + end, pieces.end());
        TakenOut<Kind> taken(others, &smallest_);
        removed = fails_(smallest_);
        if (!removed) taken.PutBack();
      }
    }
  }

  template <typename Kind>
  void LeaveOut() {
    std::vector<Piece> pieces = Kind::All(smallest_);
    for (size_t chunk = pieces.size(); chunk > 0; chunk /= 2) {
      bool removed = true;
      // With single pieces, repeat until none can be removed.
      while (removed) {
        removed = false;
        // From the end, because later elements are made from earlier ones.
        for (size_t end = pieces.size(); end > 0;) {
          if (!HasTime()) return;
          const size_t begin = end > chunk ? end - chunk : 0;
          TakenOut<Kind> taken(absl::MakeSpan(pieces).subspan(begin, end - begin), &smallest_);
          if (fails_(smallest_)) {
            pieces = Kind::All(smallest_);
            removed = true;
          } else {
            taken.PutBack();
          }
          end = std::min(begin, pieces.size());
        }
        if (chunk > 1) break;
      }
    }
  }

  // A block's number is its position, so only the last ones can be removed.
  void RemoveLastBlocks() {
    while (smallest_.blocks_size() > 1 && HasTime()) {
      const std::unique_ptr<BlockDesc> last(smallest_.mutable_blocks()->ReleaseLast());
      if (fails_(smallest_)) continue;
      *smallest_.add_blocks() = *last;
      return;
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
