// Reads the text in an image with PP-OCR's three networks: one finds lines, one says whether a line
// is upside down, one reads it.
//
//   ASSIGN_OR_RETURN(const auto reader, TextReader::Load(options));
//   ASSIGN_OR_RETURN(const std::vector<TextLine> lines, reader->Read(image));

#ifndef FIXPOINT_EXAMPLES_OCR_TEXT_READER_H_
#define FIXPOINT_EXAMPLES_OCR_TEXT_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "examples/ocr/characters.h"
#include "examples/ocr/geometry.h"
#include "examples/ocr/image.h"
#include "examples/ocr/text_boxes.h"
#include "runtime/predictor.h"
#include "runtime/tensor.h"

namespace fixpoint {
namespace ocr {

enum class Stage { kDetection, kDirection, kRecognition };
// "detection", "direction" or "recognition".
const char* StageName(Stage stage);

struct ReadOptions {
  // Where LoadInferenceModel (runtime/inference_model.h) finds the networks.
  std::string detection;
  std::string direction;  // "": all lines are the right way up
  std::string recognition;
  std::string dictionary;  // Characters::Load

  int64_t longest_side = 960;  // of an image that is searched; larger ones are made smaller
  BoxOptions boxes;
  float least_upside_down = 0.9f;  // the probability from which a line is turned
  double least_score = 0.5;        // lines that are read with less are left out
  int64_t batch_size = 6;          // of lines
  int64_t line_width = 320;        // the least one of an input for recognition
  int threads = 1;

  // Is shown what each network is fed, and to which variable.
  std::function<void(Stage, const std::string& variable, const Tensor&)> observer;
};

struct TextLine {
  Corners box;
  bool is_upside_down = false;
  ReadText read;
};

class TextReader {
 public:
  // Errors: those of Predictor::Load and Characters::Load; kInvalidArgument: a network has not one
  // input [N,3,H,W], or not one output.
  static absl::StatusOr<std::unique_ptr<TextReader>> Load(const ReadOptions& options);

  // The lines of an image, in the order of FindTextBoxes. Errors: those of Predictor::Run;
  // kInvalidArgument: a network gives something else than its stage needs.
  absl::StatusOr<std::vector<TextLine>> Read(const Image& image) const;

 private:
  struct Network {
    std::string name;  // for messages
    std::unique_ptr<Predictor> predictor;
    int64_t height = 0;  // of its input
    int64_t width = 0;
  };
  // What is known of a line, and its pixels, the right way up once that is known.
  struct Line {
    TextLine text;
    Image image;
  };

  explicit TextReader(const ReadOptions& options) : options_(options), characters_({}) {}

  // `height` and `width` are those of an input that declares none.
  absl::StatusOr<Network> LoadNetwork(const std::string& path, int64_t height, int64_t width) const;
  // The only output of a network.
  absl::StatusOr<Tensor> Run(Stage stage, const Network& network, Tensor input) const;

  absl::StatusOr<std::vector<Corners>> FindBoxes(const Image& image) const;
  // Both go through batches of lines that are about equally long.
  absl::Status TurnUpright(absl::Span<Line* const> batch) const;
  absl::Status ReadBatch(absl::Span<Line* const> batch) const;

  const ReadOptions options_;
  Network detection_;
  Network direction_;  // without a predictor: none
  Network recognition_;
  Characters characters_;
};

}  // namespace ocr
}  // namespace fixpoint

#endif  // FIXPOINT_EXAMPLES_OCR_TEXT_READER_H_
