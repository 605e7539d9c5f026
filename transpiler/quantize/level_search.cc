#include "transpiler/quantize/level_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// The layers, those with the largest number first; of equal ones the first.
std::vector<int> LargestFirst(const std::vector<double>& numbers) {
  std::vector<int> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return numbers[a] > numbers[b]; });
  return order;
}

// The noise of each layer alone at a level.
absl::StatusOr<std::vector<double>> NoiseAt(const LevelSpace& space, int level) {
  std::vector<double> noise;
  for (int layer = 0; layer < space.layers; ++layer) {
    ASSIGN_OR_RETURN(const double of_layer, space.noise(space.Alone(layer, level)));
    noise.push_back(of_layer);
  }
  return noise;
}

// `base` with the chosen items of an order of layers at another level.
Levels With(Levels base, const std::vector<int>& order, const std::vector<bool>& chosen,
            int level) {
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) base[order[i]] = level;
  }
  return base;
}

}  // namespace

Levels LevelSpace::Alone(int layer, int level) const {
  Levels alone(layers, float_level());
  alone[layer] = level;
  return alone;
}

absl::StatusOr<std::vector<bool>> SmallSet(
    int count, const std::function<absl::StatusOr<bool>(const std::vector<bool>& chosen)>& holds) {
  const auto prefix = [count](int length) {
    std::vector<bool> chosen(count);
    std::fill_n(chosen.begin(), length, true);
    return chosen;
  };
  int too_few = 0;
  int enough = count;
  while (enough - too_few > 1) {
    const int middle = too_few + (enough - too_few) / 2;
    ASSIGN_OR_RETURN(const bool is_enough, holds(prefix(middle)));
    (is_enough ? enough : too_few) = middle;
  }
  std::vector<bool> chosen = prefix(enough);
  // Without the last item it is a prefix that is known not to hold.
  for (int item = enough - 2, tried = 0; item >= 0 && tried < kMostGivenBack; --item, ++tried) {
    chosen[item] = false;
    ASSIGN_OR_RETURN(const bool is_enough, holds(chosen));
    if (!is_enough) chosen[item] = true;
  }
  return chosen;
}

absl::StatusOr<FoundLevels> FindLevelsForDrop(const LevelSpace& space, double most,
                                              const LevelTrial& drop) {
  FoundLevels best;
  const auto holds = [&](const Levels& levels) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const double reached, drop(levels));
    if (best.levels.empty() || reached < best.reached) best = {levels, reached, reached <= most};
    return reached <= most;
  };
  const auto found = [&](const Levels& levels) -> absl::StatusOr<FoundLevels> {
    ASSIGN_OR_RETURN(const double reached, drop(levels));
    return FoundLevels{levels, reached, true};
  };
  Levels base(space.layers, 0);
  ASSIGN_OR_RETURN(const bool is_enough, holds(base));
  if (is_enough) return found(base);
  for (int level = 1; level < space.levels; ++level) {
    const bool to_float = level == space.float_level();
    const Levels all(space.layers, level);
    if (!to_float) {
      ASSIGN_OR_RETURN(const bool all_hold, holds(all));
      if (!all_hold) {
        base = all;
        continue;
      }
    }
    ASSIGN_OR_RETURN(const std::vector<double> noise, NoiseAt(space, level - 1));
    const std::vector<int> order = LargestFirst(noise);
    ASSIGN_OR_RETURN(const std::vector<bool> chosen,
                     SmallSet(space.layers, [&](const std::vector<bool>& items) {
                       return holds(With(base, order, items, level));
                     }));
    const Levels levels = With(base, order, chosen, level);
    if (!to_float || levels != all) return found(levels);
  }
  return best;
}

absl::StatusOr<FoundLevels> FindLevelsForBudget(const LevelSpace& space, double most,
                                                const LevelTrial& cost) {
  const Levels floats(space.layers, space.float_level());
  const Levels quantized(space.layers, 0);
  ASSIGN_OR_RETURN(const double least, cost(quantized));
  if (least > most) return FoundLevels{quantized, least, false};
  ASSIGN_OR_RETURN(const double of_floats, cost(floats));
  ASSIGN_OR_RETURN(const std::vector<double> noise, NoiseAt(space, 0));
  std::vector<double> worth;
  for (int layer = 0; layer < space.layers; ++layer) {
    ASSIGN_OR_RETURN(const double alone, cost(space.Alone(layer, 0)));
    const double saved = of_floats - alone;
    worth.push_back(noise[layer] > 0 ? saved / noise[layer]
                                     : saved * std::numeric_limits<double>::max());
  }
  const std::vector<int> order = LargestFirst(worth);
  ASSIGN_OR_RETURN(
      const std::vector<bool> chosen,
      SmallSet(space.layers, [&](const std::vector<bool>& items) -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(const double reached, cost(With(floats, order, items, 0)));
        return reached <= most;
      }));
  const Levels levels = With(floats, order, chosen, 0);
  ASSIGN_OR_RETURN(const double reached, cost(levels));
  return FoundLevels{levels, reached, true};
}

}  // namespace fixpoint
