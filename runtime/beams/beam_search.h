// One step of a search with beams (beam_search): the best continuations of the prefixes of each
// source.

#ifndef FIXPOINT_RUNTIME_BEAMS_BEAM_SEARCH_H_
#define FIXPOINT_RUNTIME_BEAMS_BEAM_SEARCH_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace fixpoint::beams {

struct Search {
  int64_t beam_size = 0;
  int64_t end_id = 0;
  bool is_accumulated = true;  // scores are those of whole prefixes; else they are probabilities
};

// The prefixes, one a row, with their last words, and the words that may follow each.
template <typename T>
struct Continuations {
  absl::Span<const int64_t> last_ids;
  absl::Span<const T> prefix_scores;
  absl::Span<const int64_t> ids;  // {}: a word is its place among the scores of a row
  absl::Span<const T> scores;     // rows of as many words
};

// A word after a prefix.
template <typename T>
struct ScoredWord {
  int64_t prefix;  // row
  int64_t id;
  T score;
};

template <typename T>
struct SelectedWords {
  std::vector<ScoredWord<T>> words;    // prefix by prefix, the best first
  std::vector<int64_t> offsets = {0};  // of the words of each prefix
};

// Puts a word into a list of the best, which holds at most `most`. Of equal scores the later row
// comes first, and of one row the earlier word; but the last place of a full list is that of the
// latest of its equals.
template <typename T>
void KeepBest(const ScoredWord<T>& word, int64_t most, std::vector<ScoredWord<T>>* best) {
  const auto is_worse = [](const ScoredWord<T>& a, const ScoredWord<T>& b) {
    return a.score < b.score || (a.score == b.score && a.prefix < b.prefix);
  };
  if (static_cast<int64_t>(best->size()) < most) {
    best->push_back(word);
  } else if (is_worse(word, best->back())) {
    return;
  } else {
    best->back() = word;
  }
  for (size_t i = best->size() - 1; i > 0 && is_worse((*best)[i - 1], word); --i) {
    std::swap((*best)[i - 1], (*best)[i]);
  }
}

// The best words of a source, whose prefixes are rows [begin, end). None if all that is left of
// it has ended before.
template <typename T>
std::vector<ScoredWord<T>> BestOfSource(const Search& search, const Continuations<T>& from,
                                        int64_t begin, int64_t end) {
  const int64_t rows = static_cast<int64_t>(from.last_ids.size());
  const int64_t width = rows > 0 ? static_cast<int64_t>(from.scores.size()) / rows : 0;
  std::vector<ScoredWord<T>> best;
  for (int64_t row = begin; row < end; ++row) {
    const T before = from.prefix_scores[row];
    if (from.last_ids[row] == search.end_id) {
      KeepBest<T>({row, search.end_id, before}, search.beam_size, &best);
      continue;
    }
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      const int64_t id = from.ids.empty() ? i - row * width : from.ids[i];
      const T score = search.is_accumulated ? from.scores[i] : before + std::log(from.scores[i]);
      KeepBest<T>({row, id, score}, search.beam_size, &best);
    }
  }
  const bool has_ended = std::all_of(best.begin(), best.end(), [&](const ScoredWord<T>& word) {
    return word.id == search.end_id && from.last_ids[word.prefix] == search.end_id;
  });
  if (has_ended) best.clear();
  return best;
}

// `sources`: the rows at which the prefixes of each source begin, and their end. REQUIRES:
// beam_size is at least 1; `sources` ascend from 0 to the number of rows; the spans have an element
// for each row, and as many candidates for each.
template <typename T>
SelectedWords<T> SelectWords(const Search& search, absl::Span<const uint64_t> sources,
                             const Continuations<T>& from) {
  SelectedWords<T> selected;
  for (size_t s = 0; s + 1 < sources.size(); ++s) {
    const int64_t begin = static_cast<int64_t>(sources[s]);
    const int64_t end = static_cast<int64_t>(sources[s + 1]);
    std::vector<ScoredWord<T>> best = BestOfSource(search, from, begin, end);
    std::stable_sort(best.begin(), best.end(),
                     [](const auto& a, const auto& b) { return a.prefix < b.prefix; });
    auto word = best.begin();
    for (int64_t row = begin; row < end; ++row) {
      for (; word != best.end() && word->prefix == row; ++word) selected.words.push_back(*word);
      selected.offsets.push_back(static_cast<int64_t>(selected.words.size()));
    }
  }
  return selected;
}

}  // namespace fixpoint::beams

#endif  // FIXPOINT_RUNTIME_BEAMS_BEAM_SEARCH_H_
