#include "transpiler/patterns/pattern_pass.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

class PatternPass final : public Pass {
 public:
  PatternPass(std::string name, std::string doc, std::vector<const Pattern*> patterns)
      : name_(std::move(name)), doc_(std::move(doc)), patterns_(std::move(patterns)) {}

  absl::string_view name() const override { return name_; }
  absl::string_view doc() const override { return doc_; }
  // A plan names ops and values, which patterns replace.
  std::vector<std::string> ComesBefore() const override { return {"planned"}; }
  bool IsHeldToPlan() const override { return false; }

  absl::Status Run(Program& program, PassContext& context) const override {
    auto* const rewrite = dynamic_cast<RewriteContext*>(&context);
    ApplyOptions options;
    options.explain = rewrite != nullptr && rewrite->explain;
    // Elsewhere edits are known by the pass that made them.
    if (rewrite == nullptr) options.author = name_;
    ASSIGN_OR_RETURN(RewriteReport report, ApplyPatterns(patterns_, options, &program));
    if (rewrite == nullptr) {
      const size_t matches = report.replaced.size();
      context.notes.push_back(
          absl::StrCat(name_, ": replaced ", matches, matches == 1 ? " match" : " matches"));
      return absl::OkStatus();
    }
    RewriteReport& whole = rewrite->report;
    for (ReplacedMatch& replaced : report.replaced) whole.replaced.push_back(std::move(replaced));
    for (NearMatch& near : report.near_matches) whole.near_matches.push_back(std::move(near));
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const std::string doc_;
  const std::vector<const Pattern*> patterns_;
};

}  // namespace

absl::Status AddPatternPasses(absl::Span<const Pattern> patterns, PassTable* passes) {
  if (patterns.empty()) return absl::OkStatus();
  std::vector<const Pattern*> all;
  for (const Pattern& pattern : patterns) {
    all.push_back(&pattern);
    RETURN_IF_ERROR(passes->Add(std::make_unique<PatternPass>(
        pattern.name, pattern.doc, std::vector<const Pattern*>{&pattern})));
  }
  return passes->Add(std::make_unique<PatternPass>(
      kApplyPatterns, "Applies all patterns, in their order.", std::move(all)));
}

}  // namespace fixpoint
