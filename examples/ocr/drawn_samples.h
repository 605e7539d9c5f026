// Samples for the three networks, drawn when they are read: as many as one wants, without memory
// for them.

#ifndef FIXPOINT_EXAMPLES_OCR_DRAWN_SAMPLES_H_
#define FIXPOINT_EXAMPLES_OCR_DRAWN_SAMPLES_H_

#include <cstdint>
#include <memory>

#include "runtime/data/sample_set.h"

namespace fixpoint {
namespace ocr {

// The names of the fields, which are also those of the networks' variables.
inline constexpr char kImageField[] = "x";
inline constexpr char kMapField[] = "map";
inline constexpr char kLabelField[] = "label";
inline constexpr char kLabelLengthField[] = "label_length";
inline constexpr char kStepsField[] = "steps";

// Pages of this size, and lines.
inline constexpr int64_t kPageSide = 128;
inline constexpr int64_t kReadHeight = 32;
inline constexpr int64_t kReadWidth = 160;
inline constexpr int64_t kDirectionHeight = 48;
inline constexpr int64_t kDirectionWidth = 192;
// The columns of an image that are a step for recognition, and the most characters of a line.
inline constexpr int64_t kStepWidth = 4;
inline constexpr int64_t kMostCharacters = 7;

// Each of `size` samples: a page x [3,kPageSide,kPageSide] and the map [1,kPageSide,kPageSide] that
// is to be found, 1 in the middle of each line.
std::unique_ptr<SampleSet> DetectionSamples(int64_t size, uint64_t seed);
// A line x [3,kDirectionHeight,kDirectionWidth], and whether it is upside down, label [1] INT64.
std::unique_ptr<SampleSet> DirectionSamples(int64_t size, uint64_t seed);
// A line x [3,kReadHeight,kReadWidth]; the classes of its characters, label [kMostCharacters] INT32
// with zeros at the end; how many those are, label_length [] INT64; and the steps, [] INT64.
std::unique_ptr<SampleSet> RecognitionSamples(int64_t size, uint64_t seed);

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_DRAWN_SAMPLES_H_
