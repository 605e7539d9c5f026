#include "runtime/executor/recipes.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/executor/named_function.h"

namespace fixpoint::executor {

std::vector<std::string> RecipesOf(const Plan& plan) {
  std::vector<std::string> recipes(plan.buffers.size());
  for (const Plan::Persistable& persistable : plan.persistables) {
    recipes[persistable.buffer.index] = absl::StrCat("\"", absl::CEscape(persistable.name), "\"");
  }
  std::vector<bool> is_written(plan.buffers.size(), false);
  for (const Step& step : plan.constant_steps) {
    const auto* const function = step.run.target<NamedFunction>();
    const bool is_known = function != nullptr && step.writes.size() == 1 &&
                          std::none_of(step.reads.begin(), step.reads.end(),
                                       [&](Buffer read) { return recipes[read.index].empty(); });
    for (const Buffer written : step.writes) {
      std::string& recipe = recipes[written.index];
      recipe.clear();
      // What a second step adds to has no recipe.
      if (is_known && !is_written[written.index]) {
        recipe = absl::StrCat(
            function->name, "(",
            absl::StrJoin(step.reads, ", ",
                          [&](std::string* out, Buffer read) { *out += recipes[read.index]; }),
            ")");
      }
      is_written[written.index] = true;
    }
  }
  return recipes;
}

}  // namespace fixpoint::executor
