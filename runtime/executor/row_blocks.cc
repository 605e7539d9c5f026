#include "runtime/executor/row_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/executor/loop_rows.h"
#include "runtime/executor/step_rows.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::executor {
namespace {

using kernels::Repetition;
using Place = BufferInfo::Place;

// Smaller blocks than this part of what the cache holds are begun too often.
constexpr int64_t kSmallPart = 8;

// What the caches of all threads hold of the values between steps, beside operands and results. The
// machine may be asked because a block's size changes no bits.
int64_t CachedBytes() {
  return kernels::ThisMachine().second_cache / 2 * kernels::GrantedThreads();
}

bool Touches(const std::vector<Buffer>& buffers, Buffer buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

bool Touch(const std::vector<Buffer>& some, const std::vector<Buffer>& others) {
  return std::any_of(some.begin(), some.end(),
                     [&](Buffer buffer) { return Touches(others, buffer); });
}

// Of which a block of so many rows has some, or all of them several times, and begins with one.
bool HasBlocks(const Repetition& rows, int64_t in_block) {
  if (in_block % rows.inner != 0 && rows.inner % in_block != 0) return false;
  const int64_t parts = std::max<int64_t>(1, in_block / rows.inner);
  return rows.count % parts == 0 || parts % rows.count == 0;
}

// A step of a chain.
struct Member {
  size_t step;  // its place in the plan
  StepRows rows;
};

// Steps each of which reads a value that the one before it writes, row by row, and nothing else
// touches.
struct Chain {
  std::vector<Member> members;
  std::vector<Buffer> values;  // between them
};

// What a step of a chain runs on blocks.
class BlockRun {
 public:
  // `place_count`: of the plan's buffers.
  BlockRun(StepRows::Run run, size_t place_count)
      : run_(std::move(run)), addresses_(place_count, nullptr) {}

  // A buffer that it touches, which has so many bytes.
  void Add(Buffer buffer, int64_t bytes, const Repetition& rows) {
    touched_.push_back({buffer, rows, bytes / rows.count});
  }

  void Run(const StepContext& whole, int64_t row) {
    for (const auto& [buffer, rows, bytes] : touched_) {
      addresses_[buffer.index] =
          whole.Of<uint8_t>(buffer).data() + row / rows.inner % rows.count * bytes;
    }
    run_(StepContext(addresses_, whole.state()));
  }

 private:
  struct Touched {
    Buffer buffer;
    Repetition rows;
    int64_t bytes;  // of a part
  };
  StepRows::Run run_;
  std::vector<Touched> touched_;
  std::vector<uint8_t*> addresses_;
};

class Blocker {
 public:
  explicit Blocker(Plan* plan)
      : plan_(*plan), uses_(plan->buffers.size()), is_taken_(plan->steps.size(), false) {
    for (const std::vector<Step>* steps : {&plan_.steps, &plan_.constant_steps}) {
      for (const Step& step : *steps) {
        for (const std::vector<Buffer>* buffers : {&step.reads, &step.writes}) {
          for (const Buffer& buffer : *buffers) ++uses_[buffer.index];
        }
      }
    }
    for (const Plan::Fetch& fetch : plan_.fetches) {
      for (const Buffer buffer : fetch.buffers()) ++uses_[buffer.index];
    }
  }

  void Run() {
    for (size_t first = 0; first < plan_.steps.size(); ++first) {
      const std::optional<Chain> chain = ChainFrom(first);
      if (chain && ExceedsCache(*chain)) RunInBlocks(*chain);
    }
    size_t kept = 0;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (is_taken_[i]) continue;
      if (kept != i) plan_.steps[kept] = std::move(plan_.steps[i]);
      ++kept;
    }
    plan_.steps.resize(kept);
  }

  // The pairs that were there before, but for those that chains write.
  std::vector<InPlace> InPlaceAfter(std::vector<InPlace> pairs) const {
    const auto is_of_chain = [&](const InPlace& pair) { return Touches(written_, pair.written); };
    pairs.erase(std::remove_if(pairs.begin(), pairs.end(), is_of_chain), pairs.end());
    return pairs;
  }

 private:
  struct Next {
    size_t step;
    Buffer value;
  };

  // The step that alone reads something that a step writes.
  std::optional<Next> NextOf(size_t step) const {
    for (const Buffer value : plan_.steps[step].writes) {
      const BufferInfo& info = plan_.buffers[value.index];
      if (info.place != Place::kArena || info.run_shape || uses_[value.index] != 2) continue;
      for (size_t next = step + 1; next < plan_.steps.size(); ++next) {
        if (!is_taken_[next] && Touches(plan_.steps[next].reads, value)) return Next{next, value};
      }
    }
    return std::nullopt;
  }

  // The rows of a step that is not loops; null: it has none.
  const StepRows* OwnRowsOf(size_t index) const {
    const auto* const function = plan_.steps[index].run.target<FunctionOfRows>();
    return function != nullptr ? &function->rows : nullptr;
  }

  std::optional<StepRows> RowsOf(size_t index, int64_t count) const {
    const Step& step = plan_.steps[index];
    if (!step.loops.empty()) return RowsOfLoops(plan_, step, count);
    const StepRows* const rows = OwnRowsOf(index);
    const bool has_rows = rows != nullptr && rows->count == count;
    return has_rows && !step.is_slower_than_floats() ? std::optional<StepRows>(*rows)
                                                     : std::nullopt;
  }

  // Whether a step has the rows of a value at its own.
  static bool HasAtRows(const StepRows& rows, Buffer value) {
    return std::any_of(rows.parts.begin(), rows.parts.end(), [&](const StepRows::Part& part) {
      return part.buffer == value && part.rows == Repetition{rows.count, 1};
    });
  }

  // Whether two steps, of which one writes what the other one touches, have all of that at their
  // rows, so that the blocks of one have what those of the other need.
  bool ShareRows(const Member& member, const Member& later) const {
    const Step& a = plan_.steps[member.step];
    const Step& b = plan_.steps[later.step];
    const auto have_at_rows = [&](const std::vector<Buffer>& written, const Step& other) {
      return std::all_of(written.begin(), written.end(), [&](Buffer buffer) {
        return (!Touches(other.reads, buffer) && !Touches(other.writes, buffer)) ||
               (HasAtRows(member.rows, buffer) && HasAtRows(later.rows, buffer));
      });
    };
    return have_at_rows(a.writes, b) && have_at_rows(b.writes, a);
  }

  bool ShareRows(const Chain& chain, const Member& later) const {
    return std::all_of(chain.members.begin(), chain.members.end(),
                       [&](const Member& member) { return ShareRows(member, later); });
  }

  bool TouchesScope(const std::vector<Buffer>& buffers) const {
    return std::any_of(buffers.begin(), buffers.end(), [this](Buffer buffer) {
      return plan_.buffers[buffer.index].place == Place::kScope;
    });
  }

  // Whether a step may come after another instead of before it.
  bool MayPass(const Step& moved, const Step& other) const {
    return other.block == nullptr && !other.in_each_run && !TouchesScope(moved.writes) &&
           !TouchesScope(other.writes) && !Touch(other.writes, moved.reads) &&
           !Touch(other.reads, moved.writes) && !Touch(other.writes, moved.writes);
  }

  // Whether all steps of a chain may come to the place of another step, which reads what they
  // write.
  bool MayMove(const Chain& chain, size_t to) const {
    std::vector<const Step*> moved;
    for (size_t i = chain.members.front().step; i < to; ++i) {
      const Step& step = plan_.steps[i];
      if (moved.size() < chain.members.size() && chain.members[moved.size()].step == i) {
        moved.push_back(&step);
      } else if (!is_taken_[i] && !std::all_of(moved.begin(), moved.end(), [&](const Step* member) {
                   return MayPass(*member, step);
                 })) {
        return false;
      }
    }
    return true;
  }

  std::optional<Chain> ChainFrom(size_t first) const {
    if (is_taken_[first]) return std::nullopt;
    std::optional<Next> next = NextOf(first);
    if (!next) return std::nullopt;
    // A step that is loops has the rows of the others.
    const StepRows* const own = OwnRowsOf(first);
    const StepRows* const rows = own != nullptr ? own : OwnRowsOf(next->step);
    if (rows == nullptr) return std::nullopt;
    Chain chain;
    std::optional<StepRows> of_step = RowsOf(first, rows->count);
    if (!of_step) return std::nullopt;
    chain.members.push_back({first, *std::move(of_step)});
    for (; next; next = NextOf(chain.members.back().step)) {
      of_step = RowsOf(next->step, rows->count);
      if (!of_step) break;
      Member later = {next->step, *std::move(of_step)};
      if (!ShareRows(chain, later) || !MayMove(chain, next->step)) break;
      chain.members.push_back(std::move(later));
      chain.values.push_back(next->value);
    }
    if (chain.values.empty()) return std::nullopt;
    return chain;
  }

  int64_t BytesBetween(const Chain& chain) const {
    int64_t bytes = 0;
    for (const Buffer value : chain.values) bytes += plan_.buffers[value.index].bytes();
    return bytes;
  }

  // What each block reads again, such as weights.
  int64_t BytesOfWhole(const Chain& chain) const {
    int64_t bytes = 0;
    for (const Member& member : chain.members) {
      for (const Buffer read : plan_.steps[member.step].reads) {
        const bool is_whole = PlaceOf(chain, member.rows, read).count == 1;
        if (is_whole && !Touches(chain.values, read)) bytes += plan_.buffers[read.index].bytes();
      }
    }
    return bytes;
  }

  // Of the values between, in a block: as many as the caches hold, but not less than it reads
  // again.
  int64_t BytesOfBlock(const Chain& chain) const {
    return std::max(CachedBytes(), BytesOfWhole(chain));
  }

  bool ExceedsCache(const Chain& chain) const {
    return BytesBetween(chain) > 2 * BytesOfBlock(chain);
  }

  // How the parts of a buffer go with a step's rows: one that is whole, or memory of one block, is
  // one part.
  static Repetition PlaceOf(const Chain& chain, const StepRows& rows, Buffer buffer) {
    const auto part =
        std::find_if(rows.parts.begin(), rows.parts.end(),
                     [buffer](const StepRows::Part& part) { return part.buffer == buffer; });
    if (part == rows.parts.end() || Touches(chain.values, buffer)) return {1, 1};
    return part->rows;
  }

  // What runs a block of so many rows, for each member; nothing if one of them cannot.
  std::optional<std::vector<BlockRun>> PlanBlocks(const Chain& chain, int64_t in_block) const {
    for (const Member& member : chain.members) {
      for (const StepRows::Part& part : member.rows.parts) {
        if (!HasBlocks(part.rows, in_block)) return std::nullopt;
      }
    }
    std::vector<BlockRun> runs;
    for (const Member& member : chain.members) {
      absl::StatusOr<StepRows::Run> run = member.rows.plan(in_block);
      if (!run.ok()) return std::nullopt;
      runs.emplace_back(*std::move(run), plan_.buffers.size());
      const Step& step = plan_.steps[member.step];
      for (const std::vector<Buffer>* buffers : {&step.reads, &step.writes}) {
        for (const Buffer buffer : *buffers) {
          const int64_t bytes = plan_.buffers[buffer.index].bytes();
          runs.back().Add(buffer, bytes, PlaceOf(chain, member.rows, buffer));
        }
      }
    }
    return runs;
  }

  void RunInBlocks(const Chain& chain) {
    const int64_t count = chain.members.front().rows.count;
    const int64_t most = BytesOfBlock(chain) * count / BytesBetween(chain);
    for (int64_t in_block = most; in_block > most / kSmallPart; --in_block) {
      if (count % in_block != 0) continue;
      std::optional<std::vector<BlockRun>> runs = PlanBlocks(chain, in_block);
      if (runs) return MakeOne(chain, in_block, *std::move(runs));
    }
  }

  void MakeOne(const Chain& chain, int64_t in_block, std::vector<BlockRun> runs) {
    const int64_t count = chain.members.front().rows.count;
    Step one;
    std::vector<std::string> names;
    std::vector<std::string> kernels;
    for (const Member& member : chain.members) {
      Step& step = plan_.steps[member.step];
      names.push_back(std::move(step.name));
      if (!step.implementation.empty()) kernels.push_back(std::move(step.implementation));
      if (one.op == nullptr) {
        one.op = step.op;
      } else {
        one.other_ops.push_back(step.op);
      }
      one.other_ops.insert(one.other_ops.end(), step.other_ops.begin(), step.other_ops.end());
      one.operations += step.operations;
      if (step.beside_floats) {
        one.beside_floats =
            std::min(*step.beside_floats, one.beside_floats.value_or(*step.beside_floats));
      }
      for (const Buffer buffer : step.reads) {
        if (!Touches(chain.values, buffer) && !Touches(one.reads, buffer)) {
          one.reads.push_back(buffer);
        }
      }
      one.writes.insert(one.writes.end(), step.writes.begin(), step.writes.end());
      is_taken_[member.step] = true;
    }
    one.name = absl::StrCat(absl::StrJoin(names, ", "), " in ", count / in_block, " blocks");
    one.implementation = absl::StrJoin(kernels, ", ");
    for (Buffer& buffer : one.writes) {
      written_.push_back(buffer);
      if (!Touches(chain.values, buffer)) continue;
      Dims& dims = plan_.buffers[buffer.index].type.dims;
      buffer.size = buffer.size / count * in_block;
      dims = {in_block, buffer.size / in_block};
    }
    one.run = [count, in_block, runs = std::make_shared<std::vector<BlockRun>>(std::move(runs))](
                  const StepContext& context) {
      for (int64_t row = 0; row < count; row += in_block) {
        for (BlockRun& run : *runs) run.Run(context, row);
      }
      return absl::OkStatus();
    };
    const size_t last = chain.members.back().step;
    plan_.steps[last] = std::move(one);
    is_taken_[last] = false;
  }

  Plan& plan_;
  std::vector<int> uses_;       // for each buffer, the steps that read or write it, and fetches
  std::vector<bool> is_taken_;  // for each step, whether it is part of another
  std::vector<Buffer> written_;
};

}  // namespace

void RunInRowBlocks(std::vector<InPlace>* in_place, Plan* plan) {
  Blocker blocker(plan);
  blocker.Run();
  *in_place = blocker.InPlaceAfter(std::move(*in_place));
}

}  // namespace fixpoint::executor
