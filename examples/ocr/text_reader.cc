#include "examples/ocr/text_reader.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "examples/ocr/crop.h"
#include "examples/ocr/network_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace ocr {
namespace {

// The classes of the network of directions: upright, and upside down.
constexpr int64_t kDirections = 2;
// Of lines in inputs that declare no size.
constexpr int64_t kLineHeight = 48;
constexpr int64_t kDirectionWidth = 192;

absl::Status Unfit(const std::string& network, const Tensor& output, const char* wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat(network, ": the output is ", VarType::Type_Name(output.dtype()), " [",
                   absl::StrJoin(output.dims(), ","), "]; want ", wanted));
}

double Ratio(const Image& image) {
  return static_cast<double>(image.width) / static_cast<double>(image.height);
}

}  // namespace

const char* StageName(Stage stage) {
  switch (stage) {
    case Stage::kDetection:
      return "detection";
    case Stage::kDirection:
      return "direction";
    case Stage::kRecognition:
      break;
  }
  return "recognition";
}

absl::StatusOr<std::unique_ptr<TextReader>> TextReader::Load(const ReadOptions& options) {
  std::unique_ptr<TextReader> reader(new TextReader(options));
  ASSIGN_OR_RETURN(reader->detection_, reader->LoadNetwork(options.detection, 0, 0));
  if (!options.direction.empty()) {
    ASSIGN_OR_RETURN(reader->direction_,
                     reader->LoadNetwork(options.direction, kLineHeight, kDirectionWidth));
  }
  ASSIGN_OR_RETURN(reader->recognition_,
                   reader->LoadNetwork(options.recognition, kLineHeight, options.line_width));
  ASSIGN_OR_RETURN(reader->characters_, Characters::Load(options.dictionary));
  return reader;
}

absl::StatusOr<TextReader::Network> TextReader::LoadNetwork(const std::string& path, int64_t height,
                                                            int64_t width) const {
  Network network;
  network.name = path;
  PredictorOptions options;
  options.threads = options_.threads;
  ASSIGN_OR_RETURN(network.predictor, Predictor::Load(path, options));
  const Predictor& predictor = *network.predictor;
  if (predictor.inputs().size() != 1 || predictor.outputs().size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the program has ", predictor.inputs().size(), " inputs and ",
                     predictor.outputs().size(), " outputs; want one of each"));
  }
  const Variable* const input =
      predictor.program().Find(predictor.program().block(0), predictor.inputs()[0]);
  const VarType::TensorDesc* const tensor = input != nullptr ? input->tensor() : nullptr;
  if (tensor == nullptr || tensor->dims_size() != 4 || tensor->dims(1) != kColors) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the input \"", predictor.inputs()[0],
                                                   "\" is no image; want [N,3,H,W]"));
  }
  network.height = tensor->dims(2) > 0 ? tensor->dims(2) : height;
  network.width = tensor->dims(3) > 0 ? tensor->dims(3) : width;
  return network;
}

absl::StatusOr<Tensor> TextReader::Run(Stage stage, const Network& network, Tensor input) const {
  if (options_.observer) options_.observer(stage, network.predictor->inputs()[0], input);
  absl::StatusOr<std::vector<Tensor>> outputs = network.predictor->Run({&input, 1});
  if (!outputs.ok()) {
    return absl::Status(outputs.status().code(),
                        absl::StrCat(network.name, ": ", std::string(outputs.status().message())));
  }
  return std::move(outputs->front());
}

absl::StatusOr<std::vector<Corners>> TextReader::FindBoxes(const Image& image) const {
  ASSIGN_OR_RETURN(Tensor input, DetectionInput(image, options_.longest_side));
  const std::vector<int64_t> dims = {1, 1, input.dims()[2], input.dims()[3]};
  ASSIGN_OR_RETURN(const Tensor output, Run(Stage::kDetection, detection_, std::move(input)));
  if (output.dtype() != VarType::FP32 || output.dims() != dims) {
    return Unfit(detection_.name, output, "floats of one channel in the size of the input");
  }
  return FindTextBoxes({dims[2], dims[3], output.data<float>()}, image.height, image.width,
                       options_.boxes);
}

absl::Status TextReader::TurnUpright(absl::Span<Line* const> batch) const {
  std::vector<const Image*> images;
  for (const Line* line : batch) images.push_back(&line->image);
  ASSIGN_OR_RETURN(Tensor input, LinesInput(images, direction_.height, direction_.width));
  ASSIGN_OR_RETURN(const Tensor output, Run(Stage::kDirection, direction_, std::move(input)));
  if (output.dtype() != VarType::FP32 ||
      output.dims() != std::vector<int64_t>{static_cast<int64_t>(batch.size()), kDirections}) {
    return Unfit(direction_.name, output, "two probabilities for each line");
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    const absl::Span<const float> directions =
        output.data<float>().subspan(i * kDirections, kDirections);
    Line& line = *batch[i];
    line.text.is_upside_down =
        directions[1] > directions[0] && directions[1] > options_.least_upside_down;
    if (line.text.is_upside_down) line.image = HalfTurned(line.image);
  }
  return absl::OkStatus();
}

absl::Status TextReader::ReadBatch(absl::Span<Line* const> batch) const {
  double ratio = static_cast<double>(recognition_.width) / static_cast<double>(recognition_.height);
  std::vector<const Image*> images;
  for (const Line* line : batch) {
    images.push_back(&line->image);
    ratio = std::max(ratio, Ratio(line->image));
  }
  const auto width = static_cast<int64_t>(static_cast<double>(recognition_.height) * ratio);
  ASSIGN_OR_RETURN(Tensor input, LinesInput(images, recognition_.height, width));
  ASSIGN_OR_RETURN(const Tensor output, Run(Stage::kRecognition, recognition_, std::move(input)));
  if (output.dtype() != VarType::FP32 || output.dims().size() != 3 ||
      output.dims()[0] != static_cast<int64_t>(batch.size()) || output.dims()[2] < 1) {
    return Unfit(recognition_.name, output, "[lines,steps,classes] of floats");
  }
  const auto size = static_cast<size_t>(output.dims()[1] * output.dims()[2]);
  for (size_t i = 0; i < batch.size(); ++i) {
    ASSIGN_OR_RETURN(
        batch[i]->text.read,
        characters_.Read(output.data<float>().subspan(i * size, size), output.dims()[2]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TextLine>> TextReader::Read(const Image& image) const {
  ASSIGN_OR_RETURN(const std::vector<Corners> boxes, FindBoxes(image));
  std::vector<Line> lines;
  for (const Corners& box : boxes) {
    std::optional<Image> crop = Cropped(image, box);
    if (!crop) continue;
    Line& line = lines.emplace_back();
    line.text.box = box;
    line.image = *std::move(crop);
  }
  // Lines of one batch are padded to one width: the shortest first.
  std::vector<Line*> order;
  for (Line& line : lines) order.push_back(&line);
  std::stable_sort(order.begin(), order.end(),
                   [](const Line* a, const Line* b) { return Ratio(a->image) < Ratio(b->image); });
  const auto batch_size = static_cast<size_t>(options_.batch_size);
  for (size_t begin = 0; begin < order.size(); begin += batch_size) {
    const absl::Span<Line* const> batch = absl::MakeConstSpan(order).subspan(begin, batch_size);
    if (direction_.predictor != nullptr) RETURN_IF_ERROR(TurnUpright(batch));
    RETURN_IF_ERROR(ReadBatch(batch));
  }
  std::vector<TextLine> read;
  for (Line& line : lines) {
    if (line.text.read.score >= options_.least_score) read.push_back(std::move(line.text));
  }
  return read;
}

}  // namespace ocr
}  // namespace fixpoint
