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

// The smallest number that is enough, by bisection between one that is not and one that is.
absl::StatusOr<int> FewestOf(int too_few, int enough,
                             const std::function<absl::StatusOr<bool>(int number)>& is_enough) {
  while (enough - too_few > 1) {
    const int middle = too_few + (enough - too_few) / 2;
    ASSIGN_OR_RETURN(const bool holds, is_enough(middle));
    (holds ? enough : too_few) = middle;
  }
  return enough;
}

// Tries levels against a bound, and remembers the best of them.
class BoundTrials {
 public:
  BoundTrials(double most, const LevelTrial& drop) : most_(most), drop_(drop) {}

  absl::StatusOr<bool> Hold(const Levels& levels) {
    ASSIGN_OR_RETURN(const double reached, drop_(levels));
    if (best_.levels.empty() || reached < best_.reached) {
      best_ = {levels, reached, reached <= most_};
    }
    return reached <= most_;
  }

  // What is found, which holds.
  absl::StatusOr<FoundLevels> Found(const Levels& levels) const {
    ASSIGN_OR_RETURN(const double reached, drop_(levels));
    return FoundLevels{levels, reached, true};
  }

  const FoundLevels& best() const { return best_; }

 private:
  const double most_;
  const LevelTrial& drop_;
  FoundLevels best_;
};

// Levels from all as configured to one layer that is not float, each with one layer raised more
// than those before it. `through` is among them: its layers go up first, then the noisiest.
absl::StatusOr<std::vector<Levels>> PathThrough(const LevelSpace& space, const Levels& through) {
  std::vector<Levels> path = {Levels(space.layers, 0)};
  for (int level = 1; level < space.levels; ++level) {
    ASSIGN_OR_RETURN(const std::vector<double> noise, NoiseAt(space, level - 1));
    std::vector<int> order = LargestFirst(noise);
    std::stable_partition(order.begin(), order.end(),
                          [&](int layer) { return through[layer] >= level; });
    for (const int layer : order) {
      path.push_back(path.back());
      path.back()[layer] = level;
    }
  }
  path.pop_back();  // all are float
  return path;
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
  ASSIGN_OR_RETURN(const int enough,
                   FewestOf(0, count, [&](int length) { return holds(prefix(length)); }));
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
  BoundTrials trials(most, drop);
  Levels base(space.layers, 0);
  ASSIGN_OR_RETURN(const bool is_enough, trials.Hold(base));
  if (is_enough) return trials.Found(base);
  for (int level = 1; level < space.levels; ++level) {
    const bool to_float = level == space.float_level();
    const Levels all(space.layers, level);
    if (!to_float) {
      ASSIGN_OR_RETURN(const bool all_hold, trials.Hold(all));
      if (!all_hold) {
        base = all;
        continue;
      }
    }
    ASSIGN_OR_RETURN(const std::vector<double> noise, NoiseAt(space, level - 1));
    const std::vector<int> order = LargestFirst(noise);
    ASSIGN_OR_RETURN(const std::vector<bool> chosen,
                     SmallSet(space.layers, [&](const std::vector<bool>& items) {
                       return trials.Hold(With(base, order, items, level));
                     }));
    const Levels levels = With(base, order, chosen, level);
    if (!to_float || levels != all) return trials.Found(levels);
  }
  return trials.best();
}

absl::StatusOr<FoundLevels> FindLevelsForEstimatedDrop(const LevelSpace& space, double most,
                                                       const LevelTrial& estimate,
                                                       const LevelTrial& drop) {
  BoundTrials trials(most, drop);
  const Levels configured(space.layers, 0);
  ASSIGN_OR_RETURN(const bool is_enough, trials.Hold(configured));
  if (is_enough) return trials.Found(configured);
  ASSIGN_OR_RETURN(const FoundLevels near, FindLevelsForDrop(space, most, estimate));
  ASSIGN_OR_RETURN(const std::vector<Levels> path, PathThrough(space, near.levels));
  const auto holds = [&](int place) -> absl::StatusOr<bool> {
    if (place == 0) return false;
    return trials.Hold(path[place]);
  };
  const auto last = static_cast<int>(path.size()) - 1;
  auto enough = static_cast<int>(std::find(path.begin(), path.end(), near.levels) - path.begin());
  int too_few = 0;
  ASSIGN_OR_RETURN(bool is_there, holds(enough));
  for (int step = 1; is_there && enough - step > 0; step *= 2) {
    ASSIGN_OR_RETURN(const bool still_holds, holds(enough - step));
    if (!still_holds) {
      too_few = enough - step;
      break;
    }
    enough -= step;
  }
  for (int step = 1; !is_there; step *= 2) {
    if (enough == last) return trials.best();
    too_few = enough;
    enough = std::min(last, enough + step);
    ASSIGN_OR_RETURN(is_there, holds(enough));
  }
  ASSIGN_OR_RETURN(const int fewest, FewestOf(too_few, enough, holds));
  return trials.Found(path[fewest]);
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
