#include "transpiler/patterns/match_sites.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "ops/forward_ops.h"
#include "proto/program/program.h"
#include "transpiler/patterns/pattern_matcher.h"

namespace fixpoint {
namespace {

// How many ops a round may visit around what it replaces, for each op of the program: beyond that,
// to try all roots costs less.
constexpr int64_t kVisitsPerOp = 2;

}  // namespace

MatchSites::MatchSites(absl::Span<const Pattern* const> patterns, const Program& program,
                       bool finds_all)
    : patterns_(patterns),
      program_(program),
      era_(EraOf(program)),
      finds_all_(finds_all),
      matches_(patterns.size()) {
  for (size_t p = 0; p < patterns.size(); ++p) {
    roots_[patterns[p]->root().type].patterns.push_back(p);
    largest_ = std::max(largest_, patterns[p]->before.size());
  }
}

void MatchSites::BeginRound() {
  // By op, because positions change.
  std::vector<std::vector<const Op*>> matches(patterns_.size());
  std::vector<const Op*> touched;
  const auto take = [](const Roots& roots, const auto& positions, std::vector<const Op*>* ops) {
    for (const size_t position : positions) {
      if (!roots.ops[position]->removed()) ops->push_back(roots.ops[position]);
    }
  };
  for (auto& [type, roots] : roots_) {
    for (const size_t p : roots.patterns) take(roots, matches_[p], &matches[p]);
    take(roots, roots.touched, &touched);
    roots.ops.clear();
    roots.touched.clear();
  }
  positions_.clear();
  int64_t ops = 0;
  for (const Op& op : program_.ops()) {
    Add(op);
    ++ops;
  }
  visits_left_ = kVisitsPerOp * ops;
  if (finds_all_) return;
  if (all_may_match_) return FindMatches();
  for (size_t p = 0; p < patterns_.size(); ++p) {
    matches_[p].clear();
    for (const Op* op : matches[p]) matches_[p].push_back(positions_.at(op));
    std::sort(matches_[p].begin(), matches_[p].end());
  }
  for (const Op* op : touched) roots_.at(op->type()).touched.insert(positions_.at(op));
}

void MatchSites::Add(const Op& op) {
  const auto roots = roots_.find(op.type());
  if (roots == roots_.end()) return;
  positions_[&op] = roots->second.ops.size();
  roots->second.ops.push_back(&op);
}

// All patterns at one op, and then the next op: the other way round, each pattern would take the
// ops of a large program from memory again.
void MatchSites::FindMatches() {
  for (std::vector<size_t>& matches : matches_) matches.clear();
  for (const auto& [type, roots] : roots_) {
    for (size_t i = 0; i < roots.ops.size(); ++i) {
      for (const size_t p : roots.patterns) {
        if (PatternMatcher(*patterns_[p], era_).MatchAt(*roots.ops[i])) matches_[p].push_back(i);
      }
    }
  }
  all_may_match_ = false;
}

const Op* MatchSites::FindRoot(size_t pattern, size_t* from) const {
  const Roots& roots = roots_.at(patterns_[pattern]->root().type);
  size_t next = roots.ops.size();
  if (all_may_match_) {
    next = std::min(next, *from);
  } else {
    const std::vector<size_t>& matches = matches_[pattern];
    const auto match = std::lower_bound(matches.begin(), matches.end(), *from);
    if (match != matches.end()) next = *match;
    const auto touched = roots.touched.lower_bound(*from);
    if (touched != roots.touched.end()) next = std::min(next, *touched);
  }
  *from = next;
  return next < roots.ops.size() ? roots.ops[next] : nullptr;
}

void MatchSites::TouchBefore(absl::Span<const Op* const> ops) { Touch(ops); }

void MatchSites::TouchAfter(absl::Span<const Op* const> ops) {
  for (const Op* op : ops) {
    if (!positions_.contains(op)) Add(*op);
  }
  Touch(ops);
}

void MatchSites::Touch(absl::Span<const Op* const> ops) {
  if (all_may_match_) return;
  absl::flat_hash_set<const Op*> seen(ops.begin(), ops.end());
  std::vector<const Op*> reached(ops.begin(), ops.end());
  std::vector<const Op*> next;
  const auto visit = [&](const Op* op) {
    --visits_left_;
    // Patterns have no other ops.
    if (seen.insert(op).second && IsForward(*op)) next.push_back(op);
  };
  for (size_t hops = 0; !reached.empty(); ++hops) {
    for (const Op* op : reached) {
      const auto position = positions_.find(op);
      if (position != positions_.end()) roots_.at(op->type()).touched.insert(position->second);
    }
    if (hops == largest_) return;
    for (const Op* op : reached) {
      for (const auto arguments : {op->inputs(), op->outputs()}) {
        for (const Argument* argument : arguments) {
          const Value* const value = argument->value();
          if (value == nullptr) continue;
          if (value->written_by() != nullptr) visit(&value->written_by()->op());
          for (const Argument* reader : value->readers()) {
            visit(&reader->op());
            if (visits_left_ < 0) {
              all_may_match_ = true;
              return;
            }
          }
        }
      }
    }
    reached = std::move(next);
    next.clear();
  }
}

}  // namespace fixpoint
