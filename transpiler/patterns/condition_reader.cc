#include "transpiler/patterns/condition_reader.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/text/text_scanner.h"

namespace fixpoint {
namespace {

class ConditionParser {
 public:
  ConditionParser(const TextSection& section, const SumNames& names)
      : text_(section.text), scanner_(section.text, section.first_line), names_(names) {}

  absl::StatusOr<std::vector<PatternCondition>> Read(absl::string_view file_name) {
    std::vector<PatternCondition> conditions;
    scanner_.SkipLineEnds();
    if (scanner_.AtEnd()) scanner_.FailHere("a condition, like $c == 1");
    while (!scanner_.AtEnd()) {
      if (conditions.size() == kMostConditions) {
        scanner_.Fail(scanner_.offset(),
                      absl::StrCat("more than ", kMostConditions, " conditions"));
        break;
      }
      PatternCondition condition;
      if (!ReadCondition(&condition) && !scanner_.Recover()) break;
      conditions.push_back(std::move(condition));
      scanner_.SkipLineEnds();
    }
    RETURN_IF_ERROR(scanner_.status(file_name));
    return conditions;
  }

 private:
  bool ReadCondition(PatternCondition* condition) {
    const size_t start = scanner_.offset();
    if (!ReadSum(text_, names_, &scanner_, &condition->left)) return false;
    const size_t at = scanner_.offset();
    if (!ReadComparison(&condition->comparison)) return false;
    if (!ReadSum(text_, names_, &scanner_, &condition->right)) return false;
    condition->text = TextBetween(text_, start, scanner_.offset());
    if (!scanner_.AtEndOfLine()) return scanner_.FailHere("the end of the line");
    const SumTerm::Type left = condition->left.whole().type;
    const SumTerm::Type right = condition->right.whole().type;
    if (left != right) {
      return scanner_.Fail(at, absl::StrCat("compares ", TypeOfTerm(left), " with ",
                                            TypeOfTerm(right), "; want both of one type"));
    }
    const bool is_equality =
        condition->comparison == Relation::kEqual || condition->comparison == Relation::kUnequal;
    if (left != SumTerm::Type::kNumber && !is_equality) {
      return scanner_.Fail(at, absl::StrCat(TypeOfTerm(left),
                                            " is equal to another or not; want == or "
                                            "!= between them"));
    }
    return true;
  }

  bool ReadComparison(Relation* comparison) {
    static constexpr std::pair<const char*, Relation> kComparisons[] = {
        {"==", Relation::kEqual},   {"!=", Relation::kUnequal}, {"<=", Relation::kAtMost},
        {">=", Relation::kAtLeast}, {"<", Relation::kLess},     {">", Relation::kGreater},
    };
    for (const auto& [symbol, meaning] : kComparisons) {
      if (!scanner_.TryConsumeSymbol(symbol)) continue;
      *comparison = meaning;
      return true;
    }
    return scanner_.FailHere("==, !=, <, <=, > or >=");
  }

  const absl::string_view text_;
  TextScanner scanner_;
  const SumNames& names_;
};

}  // namespace

absl::StatusOr<std::vector<PatternCondition>> ReadConditions(const TextSection& section,
                                                             absl::string_view file_name,
                                                             const SumNames& names) {
  return ConditionParser(section, names).Read(file_name);
}

}  // namespace fixpoint
