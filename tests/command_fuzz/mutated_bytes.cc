#include "tests/command_fuzz/mutated_bytes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace fixpoint {
namespace {

constexpr int kMostChanges = 4;
constexpr int kLongestRange = 64;

// A range of `bytes`, which are not empty.
std::pair<size_t, size_t> Range(const std::string& bytes, Random* random) {
  const size_t begin = random->Below(static_cast<int>(bytes.size()));
  const size_t length = 1 + random->Below(kLongestRange);
  return {begin, std::min(length, bytes.size() - begin)};
}

void ChangeBytes(Random* random, std::string* bytes) {
  if (bytes->empty()) {
    bytes->push_back(static_cast<char>(random->Below(256)));
    return;
  }
  const auto [begin, length] = Range(*bytes, random);
  switch (random->Below(8)) {
    case 0:
      bytes->resize(begin);
      break;
    case 1:
      bytes->erase(begin, length);
      break;
    case 2:
      bytes->insert(begin, bytes->substr(begin, length));
      break;
    case 3:
      bytes->replace(begin, length, length, static_cast<char>(random->OneIn(2) ? 0 : 0xff));
      break;
    case 4: {
      const std::string copied = bytes->substr(begin, length);
      bytes->insert(random->Below(static_cast<int>(bytes->size())), copied);
      break;
    }
    case 5:
      bytes->insert(begin, std::string(1 + random->Below(11), '\xff'));
      break;
    case 6:
      (*bytes)[begin] = static_cast<char>(random->Below(256));
      break;
    default:
      (*bytes)[begin] = static_cast<char>((*bytes)[begin] ^ (1 << random->Below(8)));
  }
}

bool IsOfWord(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '@'; }

struct Word {
  size_t begin;
  size_t length;
};

std::vector<Word> WordsOf(const std::string& line) {
  std::vector<Word> words;
  for (size_t i = 0; i < line.size(); ++i) {
    if (!IsOfWord(line[i])) continue;
    const size_t begin = i;
    while (i < line.size() && IsOfWord(line[i])) ++i;
    words.push_back({begin, i - begin});
  }
  return words;
}

std::string OddNumberText(Random* random) {
  return random->OneIn(3) ? absl::StrCat(OddNumber(random)) : absl::StrCat(OddInteger(random));
}

void ChangeWord(const std::vector<std::string>& lines, Random* random, std::string* line) {
  const std::vector<Word> words = WordsOf(*line);
  if (words.empty()) return;
  const Word word = random->OneOf(words);
  if (absl::ascii_isdigit((*line)[word.begin]) && !random->OneIn(4)) {
    line->replace(word.begin, word.length, OddNumberText(random));
    return;
  }
  const std::string& other_line = lines[random->Below(static_cast<int>(lines.size()))];
  const std::vector<Word> other_words = WordsOf(other_line);
  if (other_words.empty()) return;
  const Word other = random->OneOf(other_words);
  line->replace(word.begin, word.length, other_line.substr(other.begin, other.length));
}

void ChangeLines(Random* random, std::vector<std::string>* lines) {
  const int count = static_cast<int>(lines->size());
  const int place = random->Below(count);
  switch (random->Below(8)) {
    case 0:
      if (count > 1) lines->erase(lines->begin() + place);
      break;
    case 1:
      lines->insert(lines->begin() + random->Below(count), std::string((*lines)[place]));
      break;
    case 2:
      std::swap((*lines)[place], (*lines)[random->Below(count)]);
      break;
    case 3:
      ChangeBytes(random, &(*lines)[place]);
      break;
    default:
      ChangeWord(*lines, random, &(*lines)[place]);
  }
}

}  // namespace

int64_t OddInteger(Random* random) {
  static constexpr int64_t kEnds[] = {std::numeric_limits<int64_t>::min(),
                                      std::numeric_limits<int64_t>::max(),
                                      std::numeric_limits<int32_t>::min(),
                                      std::numeric_limits<int32_t>::max(),
                                      int64_t{1} << 32,
                                      int64_t{1} << 31,
                                      65536,
                                      32768,
                                      256,
                                      255,
                                      128,
                                      127};
  if (!random->OneIn(3)) return random->Below(12) - 3;
  const int64_t end = kEnds[random->Below(static_cast<int>(std::size(kEnds)))];
  return random->OneIn(3) && end > 0 ? -end : end;
}

double OddNumber(Random* random) {
  using Limits = std::numeric_limits<double>;
  static const double kOdd[] = {0.0,
                                -0.0,
                                Limits::quiet_NaN(),
                                Limits::infinity(),
                                -Limits::infinity(),
                                1e30,
                                -1e30,
                                1e-30,
                                1e-45,
                                1e300,
                                0.5,
                                -1};
  if (random->OneIn(2)) return kOdd[random->Below(static_cast<int>(std::size(kOdd)))];
  return static_cast<double>(OddInteger(random));
}

std::string MutatedBytes(std::string bytes, Random* random) {
  const int changes = 1 + random->Below(kMostChanges);
  for (int i = 0; i < changes; ++i) ChangeBytes(random, &bytes);
  return bytes;
}

std::string MutatedText(std::string text, Random* random) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const int changes = 1 + random->Below(kMostChanges);
  for (int i = 0; i < changes; ++i) ChangeLines(random, &lines);
  return absl::StrJoin(lines, "\n");
}

}  // namespace fixpoint
