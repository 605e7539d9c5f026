// Sums of products along named axes, and the scale of a loss.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/random/generators.h"

namespace fixpoint::random_cases {
namespace {

// Letters of one or two operands, and some of these of the result.
void Einsum(CaseMaker& c) {
  const std::string letters = "abcde";
  Dims sizes;
  int64_t products = 1;
  for (size_t i = 0; i < letters.size(); ++i) {
    sizes.push_back(c.Between(1, 5));
    products *= sizes.back();
  }
  std::vector<std::string> terms;
  std::vector<std::string> operands;
  std::string used;
  for (int i = c.Between(1, 2); i > 0; --i) {
    std::string term;
    Dims dims;
    for (int k = c.Between(1, 4); k > 0; --k) {
      const int letter = c.Between(0, 4);
      if (term.find(letters[letter]) != std::string::npos) continue;
      term.push_back(letters[letter]);
      dims.push_back(sizes[letter]);
      if (used.find(letters[letter]) == std::string::npos) used.push_back(letters[letter]);
    }
    terms.push_back(term);
    operands.push_back(c.Numbers(dims));
  }
  std::string result;
  for (const char letter : used) {
    if (result.empty() || !c.OneIn(2)) result.insert(c.OneIn(2) ? 0 : result.size(), 1, letter);
  }
  const char* const others =
      operands.size() > 1 ? "InnerCache=[a, b], XShape=[c, d]" : "InnerCache=[a], XShape=[c]";
  c.Op("einsum(Operands=", ListText(operands), ") -> (Out=out, ", others, ") {equation=\"",
       absl::StrJoin(terms, ","), "->", result, "\"}");
  c.Fetch({"out"});
  c.Sums(products);
}

void Unscale(CaseMaker& c) {
  const Dims dims = c.SomeDims(1, 3);
  const std::string x = c.OneIn(2) ? c.AnyNumbers(dims) : c.Numbers(dims);
  c.Op("check_finite_and_unscale(X=[", x, "], Scale=", c.Numbers({1}, 0.5f, 2.0f),
       ") -> (Out=[out], FoundInfinite=found)");
}

void Update(CaseMaker& c) {
  c.Op("update_loss_scaling(X=[", c.Numbers(c.SomeDims(1, 3)),
       "], FoundInfinite=", c.Integers(VarType::BOOL, {1}, 0, 1),
       ", PrevLossScaling=", c.Numbers({1}, 0.5f, 4.0f),
       ", InGoodSteps=", c.Integers(VarType::INT32, {1}, 0, 3),
       ", InBadSteps=", c.Integers(VarType::INT32, {1}, 0, 3),
       ") -> (Out=[out], LossScaling=scale, OutGoodSteps=good, OutBadSteps=bad) "
       "{incr_every_n_steps=3, decr_every_n_nan_or_inf=2, incr_ratio=2.0, decr_ratio=0.5, "
       "stop_update=",
       BoolText(c.OneIn(4)), "}");
  c.Exact();
}

}  // namespace

Generators EinsumGenerators() {
  return {
      {"einsum", Einsum}, {"check_finite_and_unscale", Unscale}, {"update_loss_scaling", Update}};
}

}  // namespace fixpoint::random_cases
