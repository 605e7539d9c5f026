// The sentences that a search with beams has found (beam_search_decode).

#ifndef FIXPOINT_RUNTIME_BEAMS_SENTENCES_H_
#define FIXPOINT_RUNTIME_BEAMS_SENTENCES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"

namespace fixpoint::beams {

// What a step selected. The offsets are those of sources, which count prefixes of the step before,
// and those of these prefixes, which count words.
template <typename T>
struct SearchStep {
  LoD lod;
  absl::Span<const int64_t> ids;
  absl::Span<const T> scores;
};

template <typename T>
struct Sentences {
  std::vector<int64_t> ids;
  std::vector<T> scores;
  LoD lod;  // of sources, and of the words of each sentence
};

// How many sources all steps have. Error (kInvalidArgument): one has other offsets than a step of a
// search has, or others have more or fewer sources.
absl::StatusOr<int64_t> SourceCount(absl::Span<const LoD> lods,
                                    absl::Span<const int64_t> word_counts);

// The prefix of which a word is a continuation. REQUIRES: `prefixes` ascend from 0 to more than
// `word`.
int64_t PrefixOf(absl::Span<const uint64_t> prefixes, int64_t word);

absl::Status NoSuchWord(size_t step, int64_t word, size_t words);
absl::Status TooManySentences(int64_t source, int64_t beam_size);

// A sentence from its end.
template <typename T>
struct ReversedSentence {
  int64_t word;  // of the step that is looked at next
  std::vector<int64_t> ids;
  std::vector<T> scores;
};

// The sentences of a source. They begin where the last step that has words for it ends; of words
// that end a sentence only the last is kept.
template <typename T>
absl::StatusOr<std::vector<ReversedSentence<T>>> SentencesOf(absl::Span<const SearchStep<T>> steps,
                                                             int64_t source, int64_t beam_size,
                                                             int64_t end_id) {
  std::vector<ReversedSentence<T>> sentences;
  for (size_t t = steps.size(); t-- > 0;) {
    const SearchStep<T>& step = steps[t];
    const std::vector<uint64_t>& prefixes = step.lod[1];
    if (sentences.empty()) {
      const int64_t begin = static_cast<int64_t>(prefixes[step.lod[0][source]]);
      const int64_t end = static_cast<int64_t>(prefixes[step.lod[0][source + 1]]);
      if (end - begin > beam_size) return TooManySentences(source, beam_size);
      for (int64_t word = begin; word < end; ++word) {
        sentences.push_back({PrefixOf(prefixes, word), {step.ids[word]}, {step.scores[word]}});
      }
      continue;
    }
    for (ReversedSentence<T>& sentence : sentences) {
      const int64_t word = sentence.word;
      if (word >= static_cast<int64_t>(step.ids.size())) {
        return NoSuchWord(t, word, step.ids.size());
      }
      if (step.ids[word] != end_id) {
        sentence.ids.push_back(step.ids[word]);
        sentence.scores.push_back(step.scores[word]);
      }
      sentence.word = PrefixOf(prefixes, word);
    }
  }
  return sentences;
}

// Each source has `beam_size` sentences, by their last scores, NaN last; where there are fewer, the
// others have no words. Errors (kInvalidArgument): those of SourceCount; a step continues what the
// one before it does not have; more than `beam_size` sentences.
template <typename T>
absl::StatusOr<Sentences<T>> DecodeSentences(absl::Span<const SearchStep<T>> steps,
                                             int64_t beam_size, int64_t end_id) {
  std::vector<LoD> lods;
  std::vector<int64_t> counts;
  for (const SearchStep<T>& step : steps) {
    lods.push_back(step.lod);
    counts.push_back(static_cast<int64_t>(step.ids.size()));
  }
  ASSIGN_OR_RETURN(const int64_t sources, SourceCount(lods, counts));
  Sentences<T> decoded;
  decoded.lod = {{0}, {0}};
  for (int64_t source = 0; source < sources; ++source) {
    ASSIGN_OR_RETURN(std::vector<ReversedSentence<T>> sentences,
                     SentencesOf(steps, source, beam_size, end_id));
    std::stable_sort(sentences.begin(), sentences.end(), [](const auto& a, const auto& b) {
      const T last_of_a = a.scores.front();
      const T last_of_b = b.scores.front();
      if (std::isnan(last_of_b)) return !std::isnan(last_of_a);
      return last_of_a > last_of_b;
    });
    for (const ReversedSentence<T>& sentence : sentences) {
      decoded.ids.insert(decoded.ids.end(), sentence.ids.rbegin(), sentence.ids.rend());
      decoded.scores.insert(decoded.scores.end(), sentence.scores.rbegin(), sentence.scores.rend());
      decoded.lod[1].push_back(decoded.ids.size());
    }
    decoded.lod[1].resize(1 + (source + 1) * beam_size, decoded.ids.size());
    decoded.lod[0].push_back((source + 1) * beam_size);
  }
  return decoded;
}

}  // namespace fixpoint::beams

#endif  // FIXPOINT_RUNTIME_BEAMS_SENTENCES_H_
