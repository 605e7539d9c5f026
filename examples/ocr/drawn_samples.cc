#include "examples/ocr/drawn_samples.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "examples/ocr/crop.h"
#include "examples/ocr/dice.h"
#include "examples/ocr/drawn_page.h"
#include "examples/ocr/network_inputs.h"
#include "proto/base/status_macros.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace ocr {
namespace {

// Boxes of detection come out smaller or larger than they are drawn.
constexpr double kMostShift = 0.09;  // of a line's height
// What detection learns: lines whose sides are moved inwards by this share of their height, which
// BoxOptions::growth undoes.
constexpr double kShrinking = 0.3;

// The values of a sample, for each field.
using Draw = std::function<absl::StatusOr<std::vector<Tensor>>(uint64_t seed)>;

class DrawnSamples final : public SampleSet {
 public:
  DrawnSamples(int64_t size, uint64_t seed, std::vector<SampleField> fields, Draw draw)
      : size_(size), seed_(seed), fields_(std::move(fields)), draw_(std::move(draw)) {}

  int64_t size() const override { return size_; }
  absl::Span<const SampleField> fields() const override { return fields_; }
  std::string NameOf(int64_t sample) const override { return absl::StrCat("sample ", sample); }
  absl::StatusOr<uint64_t> Checksum() const override { return seed_; }

  absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> samples,
                                           absl::Span<const FieldForm> forms) const override {
    std::vector<Tensor> batch;
    for (const FieldForm& form : forms) {
      std::vector<int64_t> dims = form.dims;
      dims.insert(dims.begin(), static_cast<int64_t>(samples.size()));
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(fields_[form.field].dtype, std::move(dims)));
      batch.push_back(std::move(tensor));
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                       draw_((seed_ << 32) + static_cast<uint64_t>(samples[i])));
      for (size_t j = 0; j < forms.size(); ++j) {
        const absl::Span<const uint8_t> bytes = values[forms[j].field].bytes();
        std::memcpy(batch[j].mutable_bytes().data() + i * bytes.size(), bytes.data(), bytes.size());
      }
    }
    return batch;
  }

 private:
  const int64_t size_;
  const uint64_t seed_;
  const std::vector<SampleField> fields_;
  const Draw draw_;
};

// The first line of the first page from a seed on that has one; nothing of the page is twice in
// what is drawn, as seeds of pages have a bit that those of samples lack.
DrawnLine DrawLine(uint64_t seed, bool is_upside_down, Image* crop) {
  PageOptions options;
  options.height = 56;
  options.width = 176;
  options.most_lines = 1;
  options.most_characters = kMostCharacters;
  options.upside_down = is_upside_down ? 1 : 0;
  Dice dice(seed);
  DrawnPage page = DrawPage(seed | uint64_t{1} << 63, options);
  DrawnLine line = std::move(page.lines.at(0));
  const double height = Distance(line.box[0], line.box[3]);
  Corners box = line.box;
  // As they are found: from the top left one on the page.
  if (is_upside_down) std::rotate(box.begin(), box.begin() + 2, box.end());
  for (Point& corner : box) {
    corner.x += height * dice.Within(-kMostShift, kMostShift);
    corner.y += height * dice.Within(-kMostShift, kMostShift);
  }
  *crop = *Cropped(page.image, box);
  return line;
}

absl::StatusOr<std::vector<Tensor>> DrawDetectionSample(uint64_t seed) {
  PageOptions options;
  options.height = kPageSide;
  options.width = kPageSide;
  options.most_lines = 3;
  const DrawnPage page = DrawPage(seed, options);
  std::vector<Tensor> values;
  ASSIGN_OR_RETURN(Tensor input, DetectionInput(page.image, kPageSide));
  values.push_back(std::move(input));
  ASSIGN_OR_RETURN(Tensor map, Tensor::Allocate(VarType::FP32, {1, kPageSide, kPageSide}));
  const absl::Span<float> pixels = map.mutable_data<float>();
  std::fill(pixels.begin(), pixels.end(), 0.0f);
  for (const DrawnLine& line : page.lines) {
    const double width = Distance(line.box[0], line.box[1]);
    const double height = Distance(line.box[0], line.box[3]);
    const Point right = {(line.box[1].x - line.box[0].x) / width,
                         (line.box[1].y - line.box[0].y) / width};
    for (int64_t i = 0; i < kPageSide * kPageSide; ++i) {
      const double x = static_cast<double>(i % kPageSide) + 0.5 - line.box[0].x;
      const double y = static_cast<double>(i / kPageSide) + 0.5 - line.box[0].y;
      const double along = x * right.x + y * right.y;
      const double across = y * right.x - x * right.y;
      const double inwards = kShrinking * height;
      if (along > inwards && along < width - inwards && across > inwards &&
          across < height - inwards) {
        pixels[static_cast<size_t>(i)] = 1;
      }
    }
  }
  values.push_back(std::move(map));
  return values;
}

absl::StatusOr<std::vector<Tensor>> DrawDirectionSample(uint64_t seed) {
  const bool is_upside_down = Dice(~seed).Chance(0.5);
  Image crop;
  DrawLine(seed, is_upside_down, &crop);
  std::vector<Tensor> values;
  ASSIGN_OR_RETURN(Tensor input, LinesInput({&crop}, kDirectionHeight, kDirectionWidth));
  values.push_back(std::move(input));
  values.push_back(Tensor::FromValues<int64_t>({1}, {is_upside_down ? 1 : 0}));
  return values;
}

absl::StatusOr<std::vector<Tensor>> DrawRecognitionSample(uint64_t seed) {
  Image crop;
  const DrawnLine line = DrawLine(seed, false, &crop);
  std::vector<Tensor> values;
  ASSIGN_OR_RETURN(Tensor input, LinesInput({&crop}, kReadHeight, kReadWidth));
  values.push_back(std::move(input));
  std::vector<int32_t> classes(kMostCharacters, 0);
  // Class 0 is the blank.
  std::transform(line.glyphs.begin(), line.glyphs.end(), classes.begin(),
                 [](int glyph) { return glyph + 1; });
  values.push_back(Tensor::FromValues<int32_t>({kMostCharacters}, classes));
  values.push_back(Tensor::FromValues<int64_t>({}, {static_cast<int64_t>(line.glyphs.size())}));
  values.push_back(Tensor::FromValues<int64_t>({}, {kReadWidth / kStepWidth}));
  return values;
}

}  // namespace

std::unique_ptr<SampleSet> DetectionSamples(int64_t size, uint64_t seed) {
  return std::make_unique<DrawnSamples>(
      size, seed,
      std::vector<SampleField>{{kImageField, VarType::FP32, {kColors, kPageSide, kPageSide}},
                               {kMapField, VarType::FP32, {1, kPageSide, kPageSide}}},
      DrawDetectionSample);
}

std::unique_ptr<SampleSet> DirectionSamples(int64_t size, uint64_t seed) {
  return std::make_unique<DrawnSamples>(
      size, seed,
      std::vector<SampleField>{
          {kImageField, VarType::FP32, {kColors, kDirectionHeight, kDirectionWidth}},
          {kLabelField, VarType::INT64, {1}}},
      DrawDirectionSample);
}

std::unique_ptr<SampleSet> RecognitionSamples(int64_t size, uint64_t seed) {
  return std::make_unique<DrawnSamples>(
      size, seed,
      std::vector<SampleField>{{kImageField, VarType::FP32, {kColors, kReadHeight, kReadWidth}},
                               {kLabelField, VarType::INT32, {kMostCharacters}},
                               {kLabelLengthField, VarType::INT64, {}},
                               {kStepsField, VarType::INT64, {}}},
      DrawRecognitionSample);
}

}  // namespace ocr
}  // namespace fixpoint
