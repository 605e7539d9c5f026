#include "transpiler/patterns/pattern_rewriter.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "ops/gradient_links.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/patterns/derived_gradients.h"
#include "transpiler/patterns/match_conditions.h"
#include "transpiler/patterns/match_sites.h"
#include "transpiler/patterns/pattern_matcher.h"
#include "transpiler/patterns/replaced_gradients.h"
#include "transpiler/patterns/replacement.h"
#include "transpiler/pipeline/uses.h"

namespace fixpoint {
namespace {

int CountOps(const Program& program) {
  int ops = 0;
  for (int b = 0; b < program.block_count(); ++b) ops += program.block(b).op_count();
  return ops;
}

absl::flat_hash_set<std::string> TypesOf(absl::Span<const Pattern* const> patterns) {
  absl::flat_hash_set<std::string> types;
  for (const Pattern* pattern : patterns) {
    for (const PatternOp& op : pattern->before) types.insert(op.type);
  }
  return types;
}

absl::Status GoesOn(const absl::flat_hash_set<std::string>& applied, absl::string_view how_long) {
  std::vector<std::string> names(applied.begin(), applied.end());
  std::sort(names.begin(), names.end());
  const bool is_one = names.size() == 1;
  return absl::FailedPreconditionError(
      absl::StrCat(is_one ? "pattern \"" : "patterns \"", absl::StrJoin(names, "\", \""),
                   is_one ? "\" still matches " : "\" still match ", how_long,
                   "; leave out one that makes what another, or itself, matches"));
}

// Each pattern in turn, wherever it matches.
class Round {
 public:
  // `most_ops`: how many ops the program may have.
  Round(absl::Span<const Pattern* const> patterns, Program* program, MatchSites* sites,
        int64_t most_ops, RewriteReport* report, const ApplyOptions& options)
      : program_(*program),
        sites_(*sites),
        most_ops_(most_ops),
        op_count_(CountOps(*program)),
        era_(EraOf(*program)),
        patterns_(patterns),
        links_(*program, TypesOf(patterns)),
        named_(NamesInAllAttributes(*program)),
        report_(*report),
        options_(options) {
    sites_.BeginRound();
  }

  absl::Status Run() {
    for (size_t p = 0; p < patterns_.size(); ++p) {
      size_t place = 0;
      for (; const Op* root = sites_.FindRoot(p, &place); ++place) {
        if (!root->removed()) RETURN_IF_ERROR(TryAt(*root, *patterns_[p]));
        if (op_count_ > most_ops_) {
          return GoesOn(applied_, absl::StrCat("after the program has grown to ",
                                               options_.most_growth, " times its size"));
        }
      }
    }
    return absl::OkStatus();
  }

  // The patterns that were applied.
  const absl::flat_hash_set<std::string>& applied() const { return applied_; }

 private:
  absl::Status TryAt(const Op& root, const Pattern& pattern) {
    const PatternMatcher matcher(pattern, era_);
    const std::optional<Match> match = matcher.MatchAt(root);
    if (!match) {
      if (!options_.explain) return absl::OkStatus();
      if (const std::optional<PartialMatch> partial = matcher.WhyNotAt(root)) {
        NoteNear(root, pattern, partial->ops, partial->obstacle);
      }
      return absl::OkStatus();
    }
    // The gradient ops of what this round inserted are not linked yet.
    if (links_.has_gradients() && HasInserted(*match)) return absl::OkStatus();
    std::optional<Obstacle> obstacle;
    RETURN_IF_ERROR(Replace(root, *match, &obstacle));
    if (obstacle && options_.explain) {
      NoteNear(root, pattern, static_cast<int>(match->ops.size()), *obstacle);
    }
    return absl::OkStatus();
  }

  bool HasInserted(const Match& match) const {
    for (const Op* op : match.ops) {
      if (inserted_.contains(op)) return true;
    }
    return false;
  }

  void NoteNear(const Op& root, const Pattern& pattern, int found, const Obstacle& obstacle) {
    const std::string reason =
        obstacle.op == &root ? obstacle.reason
                             : absl::StrCat(DescribeGiven(*obstacle.op), ": ", obstacle.reason);
    report_.near_matches.push_back({pattern.name, DescribeGiven(root), reason, found,
                                    static_cast<int>(pattern.before.size())});
  }

  // Replaces the match, or says what hinders it; then nothing is changed.
  absl::Status Replace(const Op& root, const Match& match, std::optional<Obstacle>* obstacle) {
    auto replaced = FindReplacedGradients(program_, match, links_, era_);
    if ((*obstacle = TakeObstacle(&replaced))) return absl::OkStatus();
    const auto& gradients = std::get<ReplacedGradients>(replaced);
    if ((*obstacle = FindObstacle(match, gradients, named_))) return absl::OkStatus();
    Rewriter rewriter(&program_, options_.author.empty() ? match.pattern->name : options_.author);
    auto made = MakeReplacement(match, program_, era_, &rewriter);
    if ((*obstacle = TakeObstacle(&made))) return absl::OkStatus();
    const auto& replacement = std::get<Replacement>(made);
    DerivedGradients derived;
    if (gradients.first != nullptr) {
      auto outcome = DeriveGradients(match, replacement, gradients, program_, &rewriter);
      if ((*obstacle = TakeObstacle(&outcome))) return absl::OkStatus();
      derived = std::get<DerivedGradients>(std::move(outcome));
    }
    if (options_.before_writing) {
      *obstacle = options_.before_writing({match, gradients, replacement, derived});
      if (*obstacle) return absl::OkStatus();
    }
    report_.replaced.push_back(
        {match.pattern->name, DescribeGiven(root), FirstResult(match),
         static_cast<int>(match.ops.size()), static_cast<int>(replacement.ops.size()),
         static_cast<int>(gradients.ops.size()), static_cast<int>(derived.ops.size())});
    applied_.insert(match.pattern->name);
    return Write(match, gradients, replacement, derived, rewriter);
  }

  static const std::string& FirstResult(const Match& match) {
    const std::vector<PatternValue>& values = match.pattern->values;
    const auto result = std::find_if(values.begin(), values.end(), [](const PatternValue& value) {
      return value.kind == PatternValue::Kind::kResult;
    });
    return match.values[result - values.begin()]->variable().name();
  }

  template <typename Outcome>
  static std::optional<Obstacle> TakeObstacle(Outcome* outcome) {
    if (auto* const obstacle = std::get_if<Obstacle>(outcome)) return std::move(*obstacle);
    return std::nullopt;
  }

  absl::Status Write(const Match& match, const ReplacedGradients& gradients,
                     const Replacement& replacement, const DerivedGradients& derived,
                     Rewriter& rewriter) {
    const Block& block = match.last_op().block();
    for (const std::vector<VarDesc>* made : {&replacement.made, &derived.made}) {
      for (const VarDesc& var : *made) {
        RETURN_IF_ERROR(rewriter.AddVariable(block, var).status());
      }
    }
    std::vector<const Op*> removed = match.ops;
    removed.insert(removed.end(), gradients.ops.begin(), gradients.ops.end());
    removed.insert(removed.end(), derived.dropped_sums.begin(), derived.dropped_sums.end());
    std::sort(removed.begin(), removed.end(),
              [](const Op* a, const Op* b) { return a->IsBefore(*b); });
    sites_.TouchBefore(removed);
    std::vector<const Op*> changed;
    for (const OpDesc& op : replacement.ops) {
      changed.push_back(&rewriter.InsertBefore(match.last_op(), op));
    }
    inserted_.insert(changed.begin(), changed.end());
    op_count_ += static_cast<int64_t>(changed.size());
    for (const OpDesc& op : derived.ops) {
      changed.push_back(&rewriter.InsertBefore(*gradients.first, op));
    }
    // The last ones first: dropping one takes the handle of the last.
    std::vector<const Argument*> addends = derived.dropped_addends;
    std::sort(addends.begin(), addends.end(),
              [](const Argument* a, const Argument* b) { return a->index() > b->index(); });
    for (const Argument* addend : addends) {
      changed.push_back(&addend->op());
      DropAddend(*addend, rewriter);
    }
    std::vector<const Variable*> written;
    for (const Op* op : removed) {
      for (const Argument* output : op->outputs()) {
        if (output->variable() != nullptr) written.push_back(output->variable());
      }
      rewriter.Remove(*op);
    }
    sites_.TouchAfter(changed);
    for (const Variable* variable : written) {
      if (options_.keep_variables) break;
      if (!variable->removed() && !variable->is_used() && variable->desc() != nullptr &&
          !variable->persistable() && !named_.contains(variable->name())) {
        rewriter.Remove(*variable);
      }
    }
    return absl::OkStatus();
  }

  // The addends after it move up.
  static void DropAddend(const Argument& addend, Rewriter& rewriter) {
    const Op& sum = addend.op();
    const std::string slot(addend.slot_name());
    const auto addends = sum.Inputs(slot);
    for (size_t i = addend.index(); i + 1 < addends.size(); ++i) {
      rewriter.SetArgument(*addends[i], std::string(addends[i + 1]->name()));
    }
    rewriter.RemoveLastArgument(sum, /*is_input=*/true, slot);
  }

  Program& program_;
  MatchSites& sites_;
  const int64_t most_ops_;
  int64_t op_count_;  // with those that were removed
  const Era era_;
  const absl::Span<const Pattern* const> patterns_;
  const GradientLinks links_;
  const absl::flat_hash_set<std::string> named_;
  RewriteReport& report_;
  const ApplyOptions& options_;
  absl::flat_hash_set<const Op*> inserted_;
  absl::flat_hash_set<std::string> applied_;
};

}  // namespace

absl::StatusOr<RewriteReport> ApplyPatterns(absl::Span<const Pattern* const> patterns,
                                            const ApplyOptions& options, Program* program) {
  RewriteReport report;
  MatchSites sites(patterns, *program, /*finds_all=*/options.explain);
  const int64_t most_ops = CountOps(*program) * options.most_growth;
  for (int round = 0; round < kMostRewriteRounds; ++round) {
    report.near_matches.clear();
    Round one(patterns, program, &sites, most_ops, &report, options);
    RETURN_IF_ERROR(one.Run());
    if (one.applied().empty()) return report;
    if (round + 1 == kMostRewriteRounds) {
      return GoesOn(one.applied(), absl::StrCat("after ", kMostRewriteRounds, " rounds"));
    }
  }
  return report;
}

}  // namespace fixpoint
