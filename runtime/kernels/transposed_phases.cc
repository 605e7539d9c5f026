#include "runtime/kernels/transposed_phases.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fixpoint::kernels {
namespace {

// A tap, and the input that it multiplies for the first element of its phase.
struct PlacedTap {
  int64_t tap;
  int64_t input;
};

// REQUIRES: the taps' inputs are evenly spaced, and each tap reads an input for some element.
TransposedPhase PhaseOf(const std::vector<PlacedTap>& taps, int64_t first, int64_t count,
                        int64_t inputs) {
  TransposedPhase phase;
  phase.first = first;
  phase.count = count;
  for (const PlacedTap& placed : taps) phase.taps.push_back(placed.tap);
  const int64_t begin = taps.front().input;
  const int64_t end = taps.back().input + count;
  phase.first_input = std::max<int64_t>(begin, 0);
  phase.inputs = std::min(end, inputs) - phase.first_input;
  phase.window.kernel = static_cast<int64_t>(taps.size());
  if (taps.size() > 1) phase.window.dilation = taps[1].input - taps[0].input;
  phase.window.pad_before = phase.first_input - begin;
  phase.window.pad_after = std::max<int64_t>(end - inputs, 0);
  return phase;
}

}  // namespace

bool TransposedPhase::HasShapeOf(const TransposedPhase& other) const {
  return count == other.count && inputs == other.inputs && window.kernel == other.window.kernel &&
         window.dilation == other.window.dilation && window.pad_before == other.window.pad_before &&
         window.pad_after == other.window.pad_after;
}

// Input t times tap i is added to element t * stride + i * dilation - pad_before.
std::vector<TransposedPhase> TransposedPhases(const WindowAxis& axis, int64_t inputs,
                                              int64_t outputs) {
  std::map<int64_t, std::vector<PlacedTap>> taps_of_phases;
  for (int64_t tap = axis.kernel - 1; tap >= 0; --tap) {
    const int64_t of_first_input = tap * axis.dilation - axis.pad_before;
    const int64_t first = (of_first_input % axis.stride + axis.stride) % axis.stride;
    const int64_t input = (first - of_first_input) / axis.stride;
    const int64_t count = (outputs - first + axis.stride - 1) / axis.stride;
    // Some taps only ever meet padding.
    if (first >= outputs || input >= inputs || input + count <= 0) continue;
    taps_of_phases[first].push_back({tap, input});
  }
  std::vector<TransposedPhase> phases;
  for (const auto& [first, taps] : taps_of_phases) {
    const int64_t count = (outputs - first + axis.stride - 1) / axis.stride;
    phases.push_back(PhaseOf(taps, first, count, inputs));
  }
  return phases;
}

}  // namespace fixpoint::kernels
