#include "runtime/kernels/fused_loops.h"

#include <glog/logging.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/kernels/lane_sums.h"
#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// A thread's scratch memory, a part for each value that is alive at once: half of what a
// second-level cache has, so that the tensors' blocks stay there too.
constexpr int64_t kScratchBytes = int64_t{96} << 10;
// Elements. The start of a loop is then a small share of its time.
constexpr int64_t kLargestBlock = 4096;
constexpr int64_t kBlockUnit = 64;  // a multiple of kFoldLanes

// Calls use(how) with the way of lane_sums.h.
template <typename Use>
void WithHow(Folding::How how, Use use) {
  switch (how) {
    case Folding::How::kAdd:
      return use(LaneAdd());
    case Folding::How::kMultiply:
      return use(LaneMultiply());
    case Folding::How::kMax:
      return use(LaneMax());
    case Folding::How::kMin:
      return use(LaneMin());
  }
}

// Writes what goes with the elements from `begin` on.
void Repeat(const float* from, const Repetition& repetition, int64_t begin, absl::Span<float> to) {
  const int64_t size = static_cast<int64_t>(to.size());
  const auto [count, inner] = repetition;
  int64_t place = begin / inner % count;
  if (inner == 1) {
    for (int64_t i = 0; i < size; place = 0) {
      const int64_t run = std::min(count - place, size - i);
      std::copy_n(from + place, run, to.data() + i);
      i += run;
    }
    return;
  }
  int64_t left = inner - begin % inner;
  for (int64_t i = 0; i < size; left = inner) {
    const int64_t run = std::min(left, size - i);
    std::fill_n(to.data() + i, run, from[place]);
    i += run;
    place = place + 1 < count ? place + 1 : 0;
  }
}

}  // namespace

// Decides what each block is computed by, and the place of each value that is not held.
class FusedLoops::StageMaker {
 public:
  StageMaker(const std::vector<FusedTensor>& tensors, FusedLoops* made)
      : tensors_(tensors), made_(*made), local_of_(tensors.size(), -1) {}

  void Run() {
    for (const FusedLoop& loop : made_.loops_) Add(loop);
    PlaceLocals();
  }

 private:
  void Add(const FusedLoop& loop) {
    Stage stage{&loop.run, {}, {}};
    for (const FusedLoop::Operand& operand : loop.operands) {
      stage.sources.push_back(SourceOf(operand, loop.row));
    }
    const FusedTensor& result = tensors_[loop.result];
    if (loop.folding) {
      CHECK(result.is_held);
      stage.fold = static_cast<int>(made_.folds_.size());
      made_.folds_.push_back({*loop.folding, loop.result});
      stage.target = NewLocal(sizeof(float));
    } else if (result.is_held) {
      stage.target = {Source::Kind::kHeld, loop.result, result.bytes_of_element};
    } else {
      stage.target = NewLocal(result.bytes_of_element);
      local_of_[loop.result] = stage.target.at;
    }
    AddStage(std::move(stage));
  }

  Source SourceOf(const FusedLoop::Operand& operand, int64_t row) {
    const auto [count, inner] = operand.repetition;
    const FusedTensor& tensor = tensors_[operand.tensor];
    if (count == made_.size_) {
      if (tensor.is_held) return {Source::Kind::kHeld, operand.tensor, tensor.bytes_of_element};
      CHECK_GE(local_of_[operand.tensor], 0) << "a value is read before it is written";
      return {Source::Kind::kScratch, local_of_[operand.tensor], tensor.bytes_of_element};
    }
    CHECK(tensor.is_held);
    const Source held{Source::Kind::kWhole, operand.tensor, tensor.bytes_of_element, count};
    if (count == 1 || row > 1) return held;
    CHECK_EQ(tensor.bytes_of_element, static_cast<int64_t>(sizeof(float)));
    const auto [known, is_new] = repeated_.try_emplace({operand.tensor, count, inner});
    if (is_new) {
      known->second = NewLocal(sizeof(float));
      AddStage({nullptr, {held}, known->second, operand.repetition});
    }
    return known->second;
  }

  Source NewLocal(int64_t bytes_of_element) {
    last_uses_.push_back(-1);
    widest_ = std::max(widest_, bytes_of_element);
    return {Source::Kind::kScratch, static_cast<int>(last_uses_.size()) - 1, bytes_of_element};
  }

  void AddStage(Stage stage) {
    const int index = static_cast<int>(made_.stages_.size());
    for (const Source& source : stage.sources) {
      if (source.kind == Source::Kind::kScratch) last_uses_[source.at] = index;
      if (source.kind != Source::Kind::kWhole) made_.bytes_of_each_ += source.bytes_of_element;
    }
    made_.bytes_of_each_ += stage.target.bytes_of_element;
    made_.stages_.push_back(std::move(stage));
  }

  // Values that are never alive at once share a part of the scratch memory.
  void PlaceLocals() {
    std::vector<int> part_of(last_uses_.size());
    std::vector<int> holds;  // for each part, the value that is alive there, or -1
    for (size_t i = 0; i < made_.stages_.size(); ++i) {
      Stage& stage = made_.stages_[i];
      for (Source& source : stage.sources) {
        if (source.kind == Source::Kind::kScratch) source.at = part_of[source.at];
      }
      if (stage.target.kind == Source::Kind::kScratch) {
        const int local = stage.target.at;
        auto part = std::find(holds.begin(), holds.end(), -1);
        if (part == holds.end()) part = holds.insert(holds.end(), -1);
        *part = local;
        part_of[local] = static_cast<int>(part - holds.begin());
        stage.target.at = part_of[local];
      }
      for (int& local : holds) {
        if (local >= 0 && last_uses_[local] <= static_cast<int>(i)) local = -1;
      }
    }
    const int64_t bytes = std::max<int64_t>(1, widest_ * static_cast<int64_t>(holds.size()));
    const int64_t unit = made_.row_ > 1 ? made_.row_ : kBlockUnit;
    made_.block_ = std::min(kLargestBlock, kScratchBytes / bytes) / unit * unit;
    CHECK_GE(made_.block_, unit);
    made_.bytes_of_part_ = made_.block_ * widest_;
  }

  const std::vector<FusedTensor>& tensors_;
  FusedLoops& made_;
  std::vector<int> local_of_;   // for each tensor
  std::vector<int> last_uses_;  // the last stage that reads a value; -1: none
  std::map<std::tuple<int, int64_t, int64_t>, Source> repeated_;
  int64_t widest_ = 0;
};

FusedLoops::FusedLoops(int64_t size, const std::vector<FusedTensor>& tensors,
                       std::vector<FusedLoop> loops)
    : size_(size), loops_(std::move(loops)) {
  CHECK_LE(loops_.size(), static_cast<size_t>(kMostLoops));
  for (const FusedLoop& loop : loops_) {
    CHECK_LE(loop.operands.size(), static_cast<size_t>(kMostOperands));
    if (loop.row == 1) continue;
    CHECK(row_ == 1 || row_ == loop.row) << "rows of two lengths";
    row_ = loop.row;
  }
  CHECK_EQ(size_ % row_, 0);
  StageMaker(tensors, this).Run();
  CHECK_LE(folds_.size(), static_cast<size_t>(kMostFolds));
  CHECK(folds_.empty() || row_ == 1);
  for (const FoldInto& into : folds_) CHECK_EQ(into.folding.places, folds_.front().folding.places);
}

// Runs all stages on the elements from `begin` on; fold_terms(fold, terms) takes up terms.
template <typename FoldTerms>
void FusedLoops::RunStages(absl::Span<uint8_t* const> addresses, int64_t begin, int64_t count,
                           FoldTerms fold_terms) const {
  alignas(64) uint8_t scratch[kScratchBytes];
  const auto address_of = [&](const Source& source) -> uint8_t* {
    switch (source.kind) {
      case Source::Kind::kHeld:
        return addresses[source.at] + begin * source.bytes_of_element;
      case Source::Kind::kWhole:
        return addresses[source.at];
      case Source::Kind::kScratch:
        break;
    }
    return scratch + source.at * bytes_of_part_;
  };
  for (const Stage& stage : stages_) {
    uint8_t* const target = address_of(stage.target);
    if (stage.run == nullptr) {
      Repeat(reinterpret_cast<const float*>(address_of(stage.sources.front())), stage.repetition,
             begin, {reinterpret_cast<float*>(target), static_cast<size_t>(count)});
      continue;
    }
    ElementBlock::Operand operands[kMostOperands];
    for (size_t i = 0; i < stage.sources.size(); ++i) {
      const Source& source = stage.sources[i];
      operands[i] = {address_of(source), source.kind == Source::Kind::kWhole ? source.size : count};
    }
    (*stage.run)(ElementBlock({operands, stage.sources.size()}, count, target));
    if (stage.fold >= 0) {
      fold_terms(stage.fold,
                 absl::Span<const float>(reinterpret_cast<const float*>(target), count));
    }
  }
}

void FusedLoops::RunBlocks(absl::Span<uint8_t* const> addresses, int64_t begin, int64_t end) const {
  for (; begin < end; begin += block_) {
    RunStages(addresses, begin, std::min(block_, end - begin), [](int, absl::Span<const float>) {});
  }
}

// The terms of a run of elements, combined; for each fold.
void FusedLoops::FoldRun(absl::Span<uint8_t* const> addresses, int64_t begin, int64_t end,
                         absl::Span<double> folded) const {
  double lanes[kMostFolds][kFoldLanes];
  for (size_t fold = 0; fold < folds_.size(); ++fold) {
    WithHow(folds_[fold].folding.how,
            [&](auto how) { std::fill_n(lanes[fold], kFoldLanes, how.kNothing); });
  }
  for (; begin < end; begin += block_) {
    RunStages(addresses, begin, std::min(block_, end - begin),
              [&](int fold, absl::Span<const float> terms) {
                WithHow(folds_[fold].folding.how, [&](auto how) {
                  Vectorised([of_fold = lanes[fold], terms = terms.data(), size = terms.size()] {
                    double own[kFoldLanes];
                    for (int lane = 0; lane < kFoldLanes; ++lane) own[lane] = of_fold[lane];
                    FoldIntoLanes<decltype(how)>(
                        size, [=](int64_t i) { return terms[i]; }, own);
                    for (int lane = 0; lane < kFoldLanes; ++lane) of_fold[lane] = own[lane];
                  });
                });
              });
  }
  for (size_t fold = 0; fold < folds_.size(); ++fold) {
    WithHow(folds_[fold].folding.how,
            [&](auto how) { folded[fold] = CombineLanes<decltype(how)>(lanes[fold]); });
  }
}

void FusedLoops::Finish(absl::Span<uint8_t* const> addresses, int fold, int64_t place,
                        double folded) const {
  const FoldInto& into = folds_[fold];
  reinterpret_cast<float*>(addresses[into.tensor])[place] =
      static_cast<float>(folded * into.folding.factor);
}

// Everything into one place: in the pieces of ParallelFold.
void FusedLoops::FoldAll(absl::Span<uint8_t* const> addresses) const {
  const int64_t pieces = PiecesOf(size_);
  double of_pieces[kMostPieces][kMostFolds];
  ParallelFor(pieces, size_ * bytes_of_each_ / pieces,
              [=, of_pieces = &of_pieces[0]](int64_t first, int64_t end) {
                for (int64_t piece = first; piece < end; ++piece) {
                  FoldRun(addresses, size_ * piece / pieces, size_ * (piece + 1) / pieces,
                          of_pieces[piece]);
                }
              });
  for (size_t fold = 0; fold < folds_.size(); ++fold) {
    WithHow(folds_[fold].folding.how, [&](auto how) {
      double folded = of_pieces[0][fold];
      for (int64_t piece = 1; piece < pieces; ++piece) {
        folded = how.Combine(folded, of_pieces[piece][fold]);
      }
      Finish(addresses, static_cast<int>(fold), 0, folded);
    });
  }
}

// Places from `first` to `end`, several of which are in one block.
void FusedLoops::FoldShortRuns(absl::Span<uint8_t* const> addresses, int64_t first,
                               int64_t end) const {
  const int64_t run = size_ / folds_.front().folding.places;
  const int64_t in_block = block_ / run;
  for (; first < end; first += in_block) {
    const int64_t places = std::min(in_block, end - first);
    RunStages(addresses, first * run, places * run, [&](int fold, absl::Span<const float> terms) {
      WithHow(folds_[fold].folding.how, [&](auto how) {
        double folded[kLargestBlock];
        Vectorised([=, folded = &folded[0], terms = terms.data()] {
          for (int64_t place = 0; place < places; ++place) {
            folded[place] = LaneFold<decltype(how)>(
                run, [of_place = terms + place * run](int64_t i) { return of_place[i]; });
          }
        });
        for (int64_t place = 0; place < places; ++place) {
          Finish(addresses, fold, first + place, folded[place]);
        }
      });
    });
  }
}

void FusedLoops::FoldPlaces(absl::Span<uint8_t* const> addresses) const {
  const int64_t places = folds_.front().folding.places;
  const int64_t run = size_ / places;
  ParallelFor(places, run * bytes_of_each_, [=](int64_t first, int64_t end) {
    if (run <= block_) return FoldShortRuns(addresses, first, end);
    for (int64_t place = first; place < end; ++place) {
      double folded[kMostFolds];
      FoldRun(addresses, place * run, (place + 1) * run, absl::MakeSpan(folded));
      for (size_t fold = 0; fold < folds_.size(); ++fold) {
        Finish(addresses, static_cast<int>(fold), place, folded[fold]);
      }
    }
  });
}

void FusedLoops::Run(absl::Span<uint8_t* const> addresses) const {
  if (folds_.empty()) {
    ParallelFor(size_ / row_, bytes_of_each_ * row_, [=](int64_t begin, int64_t end) {
      RunBlocks(addresses, begin * row_, end * row_);
    });
  } else if (folds_.front().folding.places == 1) {
    FoldAll(addresses);
  } else {
    FoldPlaces(addresses);
  }
}

bool FusedLoops::HoldsRows(int64_t row, int64_t values) {
  return row <= kLargestBlock &&
         row * values * static_cast<int64_t>(sizeof(double)) <= kScratchBytes;
}

std::string FusedLoops::implementation() const { return LoopsName(); }

}  // namespace fixpoint::kernels
