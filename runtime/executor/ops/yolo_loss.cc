// The loss of YOLO's last convolution.

#include "runtime/boxes/yolo_loss.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/counts.h"

namespace fixpoint::executor {
namespace {

// What both ops work on.
struct Reading {
  boxes::YoloLoss yolo;
  Buffer x;
  Buffer boxes;
  Counts labels;
  std::optional<Buffer> scores;

  std::vector<Buffer> buffers() const {
    std::vector<Buffer> all = {x, boxes, labels.buffer};
    if (scores) all.push_back(*scores);
    return all;
  }
  boxes::YoloTruth<float> TruthIn(const StepContext& run, const std::vector<int64_t>& found) const {
    return {run.Floats(boxes), found, scores ? run.Floats(*scores) : absl::Span<const float>()};
  }
};

absl::StatusOr<Reading> Read(OpPlanner& op) {
  Reading reading;
  ASSIGN_OR_RETURN(reading.yolo,
                   boxes::YoloLossOf(op.attributes(), op.InputDims("X"), op.InputDims("GTBox")));
  const int64_t count = reading.yolo.images * reading.yolo.boxes;
  RETURN_IF_ERROR(op.CheckSize("GTLabel", count));
  ASSIGN_OR_RETURN(reading.x, op.ReadFloats("X"));
  ASSIGN_OR_RETURN(reading.boxes, op.ReadFloats("GTBox"));
  ASSIGN_OR_RETURN(reading.labels, ReadCounts(op, "GTLabel"));
  if (op.HasInput("GTScore")) {
    RETURN_IF_ERROR(op.CheckSize("GTScore", count));
    ASSIGN_OR_RETURN(reading.scores, op.ReadFloats("GTScore"));
  }
  return reading;
}

absl::Status PlanLoss(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Reading reading, Read(op));
  const boxes::YoloLoss& yolo = reading.yolo;
  const Buffer loss = op.WriteAs("Loss", {VarType::FP32, {yolo.images}});
  const Buffer objects = op.WriteAs("ObjectnessMask", {VarType::FP32, yolo.MaskDims()});
  const Buffer matches = op.WriteAs("GTMatchMask", {VarType::INT32, {yolo.images, yolo.boxes}});
  op.AddStep({reading.buffers(), {loss, objects, matches}, [=](const StepContext& run) {
                const std::vector<int64_t> labels = reading.labels.In(run);
                return boxes::FindYoloLoss<float>(reading.yolo, run.Floats(reading.x),
                                                  reading.TruthIn(run, labels), run.Floats(loss),
                                                  run.Floats(objects), run.Of<int32_t>(matches));
              }});
  return absl::OkStatus();
}

absl::Status PlanLossGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Reading reading, Read(op));
  const boxes::YoloLoss& yolo = reading.yolo;
  RETURN_IF_ERROR(op.CheckDims("Loss@GRAD", {yolo.images}));
  RETURN_IF_ERROR(op.CheckDims("ObjectnessMask", yolo.MaskDims()));
  RETURN_IF_ERROR(op.CheckDims("GTMatchMask", {yolo.images, yolo.boxes}));
  ASSIGN_OR_RETURN(const Buffer dloss, op.ReadFloats("Loss@GRAD"));
  ASSIGN_OR_RETURN(const Buffer objects, op.ReadFloats("ObjectnessMask"));
  ASSIGN_OR_RETURN(const Buffer matches, op.Read("GTMatchMask", VarType::INT32));
  std::vector<Buffer> reads = reading.buffers();
  reads.insert(reads.end(), {dloss, objects, matches});
  const Buffer dx = op.WriteAs("X@GRAD", op.InputType("X"));
  op.AddStep({reads, {dx}, [=](const StepContext& run) {
                const std::vector<int64_t> labels = reading.labels.In(run);
                return boxes::FindYoloLossGradient<float>(
                    reading.yolo, run.Floats(reading.x), reading.TruthIn(run, labels),
                    run.Floats(objects), run.Of<int32_t>(matches), run.Floats(dloss),
                    run.Floats(dx));
              }});
  return absl::OkStatus();
}

}  // namespace

OpPlans YoloLossPlans() {
  return {{"yolov3_loss", PlanLoss}, {"yolov3_loss_grad", PlanLossGradient}};
}

}  // namespace fixpoint::executor
