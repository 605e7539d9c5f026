#include "ops/einsum_equation.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "proto/base/status_macros.h"

namespace fixpoint {
namespace {

// The letters of an operand, and where among them "..." stands; -1: nowhere.
struct Letters {
  std::string letters;
  int ellipsis = -1;
};

absl::StatusOr<Letters> LettersOf(absl::string_view text) {
  Letters found;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "..." && found.ellipsis < 0) {
      found.ellipsis = static_cast<int>(found.letters.size());
      i += 2;
    } else if (absl::ascii_isalpha(static_cast<unsigned char>(text[i]))) {
      found.letters.push_back(text[i]);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "equation has \"", text, "\"; want letters, and at most one \"...\", in each operand"));
    }
  }
  return found;
}

// Numbers the axes in the order in which they are met.
class Axes {
 public:
  explicit Axes(int first) : next_(first) {}

  int Of(char letter) {
    const auto [place, is_new] = axes_.try_emplace(letter, next_);
    if (is_new) ++next_;
    return place->second;
  }
  bool Has(char letter) const { return axes_.count(letter) > 0; }
  int count() const { return next_; }

 private:
  std::map<char, int> axes_;
  int next_;
};

}  // namespace

absl::StatusOr<EinsumEquation> ParseEinsum(absl::string_view equation,
                                           const std::vector<int>& ranks) {
  const std::string text = absl::StrReplaceAll(equation, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  if (sides.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("equation is \"", equation, "\"; want operands, one \"->\" and a result"));
  }
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (terms.size() != ranks.size()) {
    return absl::InvalidArgumentError(absl::StrCat("equation \"", equation, "\" has ", terms.size(),
                                                   " operands; the op has ", ranks.size()));
  }
  std::vector<Letters> letters;
  int unnamed = 0;  // dimensions that "..." stands for, at most
  for (size_t i = 0; i < terms.size(); ++i) {
    ASSIGN_OR_RETURN(const Letters of_term, LettersOf(terms[i]));
    const int left = ranks[i] - static_cast<int>(of_term.letters.size());
    if (left < 0 || (left > 0 && of_term.ellipsis < 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "equation has \"", terms[i], "\" for an operand of ", ranks[i], " dimensions"));
    }
    unnamed = std::max(unnamed, left);
    letters.push_back(of_term);
  }
  ASSIGN_OR_RETURN(const Letters of_result, LettersOf(sides[1]));
  EinsumEquation parsed;
  Axes axes(unnamed);
  const auto append = [&](const Letters& of, int dims_of_ellipsis, std::vector<int>* to) {
    for (int k = 0; k <= static_cast<int>(of.letters.size()); ++k) {
      if (k == of.ellipsis) {
        for (int axis = unnamed - dims_of_ellipsis; axis < unnamed; ++axis) to->push_back(axis);
      }
      if (k < static_cast<int>(of.letters.size())) to->push_back(axes.Of(of.letters[k]));
    }
  };
  for (size_t i = 0; i < letters.size(); ++i) {
    parsed.operands.emplace_back();
    append(letters[i], ranks[i] - static_cast<int>(letters[i].letters.size()),
           &parsed.operands.back());
  }
  for (const char letter : of_result.letters) {
    const bool is_once =
        std::count(of_result.letters.begin(), of_result.letters.end(), letter) == 1;
    if (axes.Has(letter) && is_once) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "equation's result is \"", sides[1], "\"; want letters of operands, each of them once"));
  }
  append(of_result, unnamed, &parsed.result);
  parsed.axis_count = axes.count();
  return parsed;
}

absl::StatusOr<Dims> EinsumSizes(const EinsumEquation& equation,
                                 const std::vector<Dims>& operands) {
  Dims sizes(equation.axis_count, 1);
  std::vector<bool> is_unknown(equation.axis_count);
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t k = 0; k < operands[i].size(); ++k) {
      const int axis = equation.operands[i][k];
      const int64_t size = operands[i][k];
      if (size < 0) is_unknown[axis] = true;
      if (size < 0 || size == 1 || size == sizes[axis]) continue;
      if (sizes[axis] != 1) {
        return absl::InvalidArgumentError(absl::StrCat("operand ", i, " is ", DimsText(operands[i]),
                                                       ", where another has ", sizes[axis],
                                                       " instead of ", size));
      }
      sizes[axis] = size;
    }
  }
  for (int axis = 0; axis < equation.axis_count; ++axis) {
    if (is_unknown[axis] && sizes[axis] == 1) sizes[axis] = kUnknownDim;
  }
  return sizes;
}

std::vector<int64_t> EinsumStrides(const EinsumEquation& equation, const std::vector<int>& axes,
                                   DimsView dims) {
  std::vector<int64_t> strides(equation.axis_count);
  int64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    if (dims[k] != 1) strides[axes[k]] += stride;
    stride *= dims[k];
  }
  return strides;
}

}  // namespace fixpoint
