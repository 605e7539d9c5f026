#include "transpiler/patterns/match_steps.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fixpoint {
namespace {

std::vector<int> ValuesOf(const std::vector<PatternSlot>& slots) {
  std::vector<int> values;
  for (const PatternSlot& slot : slots) {
    values.insert(values.end(), slot.values.begin(), slot.values.end());
  }
  return values;
}

class StepFinder {
 public:
  explicit StepFinder(Pattern* pattern)
      : pattern_(*pattern), steps_(pattern->steps), found_(pattern->before.size(), false) {}

  std::optional<int> Find() {
    const int ops = static_cast<int>(pattern_.before.size());
    Add(ops - 1, -1, false);
    while (static_cast<int>(steps_.size()) < ops) {
      if (AddWriter() || AddReader()) continue;
      return static_cast<int>(std::find(found_.begin(), found_.end(), false) - found_.begin());
    }
    NoteWhatIsKept();
    return std::nullopt;
  }

 private:
  void Add(int op, int value, bool writes) {
    found_[op] = true;
    steps_.push_back({op, value, writes, {}, {}, {}});
  }

  // Adds the op that writes a value which an op that is found reads.
  bool AddWriter() {
    for (size_t step = 0; step < steps_.size(); ++step) {
      for (const int read : ValuesOf(pattern_.before[steps_[step].op].inputs)) {
        if (AddOp(read, /*writes=*/true)) return true;
      }
    }
    return false;
  }
  // Adds an op that reads a value which an op that is found writes.
  bool AddReader() {
    for (size_t step = 0; step < steps_.size(); ++step) {
      for (const int written : ValuesOf(pattern_.before[steps_[step].op].outputs)) {
        if (AddOp(written, /*writes=*/false)) return true;
      }
    }
    return false;
  }
  bool AddOp(int value, bool writes) {
    for (size_t op = 0; op < pattern_.before.size(); ++op) {
      if (found_[op]) continue;
      const PatternOp& candidate = pattern_.before[op];
      const std::vector<int> values = ValuesOf(writes ? candidate.outputs : candidate.inputs);
      if (std::count(values.begin(), values.end(), value) == 0) continue;
      Add(static_cast<int>(op), value, writes);
      return true;
    }
    return false;
  }

  // The first and the last step to which a name matters; -1: none.
  struct Span {
    int first = -1;
    int last = -1;

    void Add(int step) {
      if (first < 0) first = step;
      last = std::max(last, step);
    }
  };

  void NoteWhatIsKept() {
    std::vector<Span> values(pattern_.values.size());
    std::vector<Span> attributes(pattern_.variables.size());
    for (size_t step = 0; step < steps_.size(); ++step) {
      const PatternOp& op = pattern_.before[steps_[step].op];
      for (const auto* slots : {&op.inputs, &op.outputs}) {
        for (const int value : ValuesOf(*slots)) values[value].Add(static_cast<int>(step));
      }
      for (const PatternAttribute& attribute : op.attributes) {
        if (attribute.variable >= 0) attributes[attribute.variable].Add(static_cast<int>(step));
      }
    }
    const auto span_of = [&](const SumTerm& term) -> Span& {
      return term.kind == SumTerm::Kind::kAttribute ? attributes[term.named] : values[term.named];
    };
    for (size_t i = 0; i < pattern_.conditions.size(); ++i) {
      std::vector<SumTerm> terms = pattern_.conditions[i].left.terms;
      const std::vector<SumTerm>& right = pattern_.conditions[i].right.terms;
      terms.insert(terms.end(), right.begin(), right.end());
      int known = 0;
      for (const SumTerm& term : terms) {
        if (term.named >= 0) known = std::max(known, span_of(term).first);
      }
      steps_[known].conditions.push_back(static_cast<int>(i));
      for (const SumTerm& term : terms) {
        if (term.named >= 0) span_of(term).Add(known);
      }
    }
    for (size_t step = 0; step < steps_.size(); ++step) {
      Keep(values, static_cast<int>(step), steps_[step].kept_values);
      Keep(attributes, static_cast<int>(step), steps_[step].kept_attributes);
    }
  }
  static void Keep(const std::vector<Span>& spans, int step, std::vector<int>& kept) {
    for (size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].first >= 0 && spans[i].first <= step && step < spans[i].last) {
        kept.push_back(static_cast<int>(i));
      }
    }
  }

  const Pattern& pattern_;
  std::vector<MatchStep>& steps_;
  std::vector<bool> found_;
};

}  // namespace

std::optional<int> AddMatchSteps(Pattern* pattern) { return StepFinder(pattern).Find(); }

}  // namespace fixpoint
