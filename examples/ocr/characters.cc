#include "examples/ocr/characters.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"

namespace fixpoint {
namespace ocr {

absl::StatusOr<Characters> Characters::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadInputFile(path, kMostPageBytes));
  std::vector<std::string> characters;
  if (!bytes.empty()) {
    for (absl::string_view line : absl::StrSplit(absl::StripSuffix(bytes, "\n"), '\n')) {
      characters.emplace_back(absl::StripSuffix(line, "\r"));
    }
  }
  if (characters.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the dictionary is empty; want a character on each line"));
  }
  return Characters(std::move(characters));
}

absl::StatusOr<ReadText> Characters::Read(absl::Span<const float> probabilities,
                                          int64_t classes) const {
  const auto known = static_cast<int64_t>(characters_.size()) + 1;
  if (classes != known && classes != known + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the network has ", classes, " classes, and the dictionary ", known - 1,
                     " characters; want a class for each, one for the blank, and perhaps one for "
                     "the space"));
  }
  ReadText read;
  int64_t characters = 0;
  int64_t last = 0;
  for (auto step = probabilities.begin(); step != probabilities.end(); step += classes) {
    const auto best = std::max_element(step, step + classes);
    const int64_t found = best - step;
    if (found != 0 && found != last) {
      read.text += found == known ? " " : characters_[static_cast<size_t>(found - 1)];
      read.score += *best;
      ++characters;
    }
    last = found;
  }
  if (characters > 0) read.score /= static_cast<double>(characters);
  return read;
}

}  // namespace ocr
}  // namespace fixpoint
