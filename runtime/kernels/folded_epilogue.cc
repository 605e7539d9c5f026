#include "runtime/kernels/folded_epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/code_range.h"

namespace fixpoint::kernels {
namespace {

using Kind = EpilogueStage::Kind;
using Residual = FoldedEpilogue::Residual;

// Computed as the instructions do: a NaN gives the lowest.
float Clamped(float x, float lowest, float highest) {
  return std::min(x > lowest ? x : lowest, highest);
}

// Reads the stages one by one, from the first on.
class Stages {
 public:
  explicit Stages(const Epilogue& epilogue) : epilogue_(epilogue) {}

  bool empty() const { return next_ == epilogue_.size(); }
  bool BeginWith(Kind first, Kind second) const {
    return epilogue_.size() >= 2 && epilogue_[0].kind == first && epilogue_[1].kind == second;
  }
  const EpilogueStage* Take(Kind kind) {
    if (empty() || epilogue_[next_].kind != kind) return nullptr;
    return &epilogue_[next_++];
  }
  std::optional<size_t> TakeIndex(Kind kind) {
    if (Take(kind) == nullptr) return std::nullopt;
    return next_ - 1;
  }

 private:
  const Epilogue& epilogue_;
  size_t next_ = 0;
};

class Bounds {
 public:
  void Clip(float lowest, float highest) {
    lowest_ = Clamped(lowest_, lowest, highest);
    highest_ = Clamped(highest_, lowest, highest);
  }
  // All clips that come next.
  void Take(Stages& stages) {
    while (true) {
      if (stages.Take(Kind::kRelu) != nullptr) {
        Clip(0, std::numeric_limits<float>::infinity());
      } else if (const EpilogueStage* const clip = stages.Take(Kind::kClip)) {
        Clip(clip->a, clip->b);
      } else {
        return;
      }
    }
  }
  template <typename Function>
  void Map(Function f) {
    lowest_ = f(lowest_);
    highest_ = f(highest_);
  }

  float lowest() const { return lowest_; }
  float highest() const { return highest_; }

 private:
  float lowest_ = -std::numeric_limits<float>::infinity();
  float highest_ = std::numeric_limits<float>::infinity();
};

}  // namespace

std::optional<FoldedEpilogue> Fold(const Epilogue& epilogue, OutputType output) {
  const bool has_nan = std::any_of(
      epilogue.begin(), epilogue.end(),
      [](const EpilogueStage& stage) { return std::isnan(stage.a) || std::isnan(stage.b); });
  if (output == OutputType::kFloat || has_nan) return std::nullopt;
  FoldedEpilogue result;
  Stages stages(epilogue);
  if (stages.BeginWith(Kind::kAddChannel, Kind::kMultiplyChannel)) {
    result.bias = stages.TakeIndex(Kind::kAddChannel);
    result.bias_factors = stages.TakeIndex(Kind::kMultiplyChannel);
  }
  result.factors = stages.TakeIndex(Kind::kMultiplyChannel);
  result.addends = stages.TakeIndex(Kind::kAddChannel);
  for (const auto& [kind, residual] :
       {std::pair(Kind::kAddUint8, Residual::kUint8), std::pair(Kind::kAddInt8, Residual::kInt8)}) {
    if (const EpilogueStage* const added = stages.Take(kind)) {
      result.residual = residual;
      result.residual_step = added->a;
      result.residual_zero_point = added->b;
      break;
    }
  }
  Bounds bounds;
  bounds.Take(stages);
  if (const EpilogueStage* const multiplied = stages.Take(Kind::kMultiply)) {
    result.multiplier = multiplied->a;
    if (!(result.multiplier > 0) || std::isinf(result.multiplier)) return std::nullopt;
    bounds.Map([m = result.multiplier](float x) { return x * m; });
  }
  if (stages.Take(Kind::kRound) != nullptr) {
    bounds.Map([](float x) { return std::nearbyint(x); });
    if (const EpilogueStage* const added = stages.Take(Kind::kAdd)) {
      result.has_zero_point = true;
      result.zero_point = added->a;
      if (std::isinf(added->a)) return std::nullopt;
      bounds.Map([z = added->a](float x) { return x + z; });
    }
  }
  bounds.Take(stages);
  if (!stages.empty()) return std::nullopt;
  const CodeRange codes = CodesOfByte(output == OutputType::kUint8);
  bounds.Clip(static_cast<float>(codes.smallest), static_cast<float>(codes.largest));
  result.lowest = bounds.lowest();
  result.highest = bounds.highest();
  return result;
}

}  // namespace fixpoint::kernels
