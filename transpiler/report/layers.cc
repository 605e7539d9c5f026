#include "transpiler/report/layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "transpiler/plan/reasons.h"
#include "transpiler/report/lowering_account.h"

namespace fixpoint {
namespace {

// Of smaller keys, the layer is worse. NaN counts as not measured.
std::tuple<double, double> RankOf(const RunReport::Op& op) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const bool has_loss = op.has_sensitivity() && !std::isnan(op.sensitivity());
  const bool has_noise = op.has_signal_to_noise() && !std::isnan(op.signal_to_noise());
  return {has_loss ? -op.sensitivity() : kNone, has_noise ? op.signal_to_noise() : kNone};
}

}  // namespace

OpState StateOf(const RunReport::Op& op) {
  const std::optional<LoweredPart> part = PartOfCode(op.lowered());
  if (part == LoweredPart::kIntegers) return OpState::kIntegers;
  if (part == LoweredPart::kEdge) return OpState::kEdge;
  if (part == LoweredPart::kFloat || (op.has_quantized() && !op.quantized())) {
    return OpState::kFloat;
  }
  return op.quantized() ? OpState::kQuantized : OpState::kUndecided;
}

absl::string_view StateText(OpState state) {
  switch (state) {
    case OpState::kIntegers:
      return "on integers";
    case OpState::kQuantized:
      return "quantized";
    case OpState::kEdge:
      return "at the edge";
    case OpState::kFloat:
      return "float";
    case OpState::kUndecided:
      return "as it was";
  }
  return "";
}

QuantizedOps CountQuantizedOps(const RunReport& report) {
  QuantizedOps counted;
  for (const RunReport::Op& op : report.ops()) {
    const OpState state = StateOf(op);
    counted.are_lowered |= op.has_lowered();
    const bool is_done = state == OpState::kIntegers || state == OpState::kQuantized;
    counted.done += static_cast<int>(is_done);
    counted.decided += static_cast<int>(is_done || state == OpState::kFloat);
  }
  return counted;
}

Why WhyPlanned(const RunReport::Op& op) {
  const std::optional<Reason> reason = ReasonOfCode(op.reason());
  return {op.reason(), reason ? std::string(ReasonMeaning(*reason)) : ""};
}

Why WhyLowered(const RunReport::Op& op) {
  return {op.lowered(), std::string(MeaningOfCode(op.lowered()))};
}

bool IsLayer(const RunReport::Op& op) {
  return op.has_quantized() || op.values_size() > 0 || op.has_signal_to_noise() ||
         op.has_difference() || op.has_sensitivity();
}

std::vector<int> LayersWorstFirst(const RunReport& report) {
  std::vector<int> layers;
  for (int i = 0; i < report.ops_size(); ++i) {
    if (IsLayer(report.ops(i))) layers.push_back(i);
  }
  std::stable_sort(layers.begin(), layers.end(), [&report](int a, int b) {
    return RankOf(report.ops(a)) < RankOf(report.ops(b));
  });
  return layers;
}

}  // namespace fixpoint
