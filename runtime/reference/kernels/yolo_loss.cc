// The loss of YOLO's last convolution.

#include "runtime/boxes/yolo_loss.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/elements.h"

namespace fixpoint::reference {
namespace {

// The true boxes in the type of X.
template <typename T>
struct Truth {
  std::vector<T> boxes;
  std::vector<int64_t> labels;
  std::vector<T> scores;

  explicit Truth(const OpRun& op)
      : boxes(ElementsOf<T>(op.Input("GTBox"))), labels(IntegersOf(op.Input("GTLabel"))) {
    if (op.FindInput("GTScore") != nullptr) scores = ElementsOf<T>(op.Input("GTScore"));
  }
  boxes::YoloTruth<T> view() const { return {boxes, labels, scores}; }
};

absl::StatusOr<boxes::YoloLoss> YoloLossOf(const OpRun& op) {
  const Dims& boxes = op.Input("GTBox").dims;
  ASSIGN_OR_RETURN(const boxes::YoloLoss yolo,
                   boxes::YoloLossOf(op.attributes(), op.Input("X").dims, boxes));
  RETURN_IF_ERROR(op.CheckSize("GTLabel", yolo.images * yolo.boxes));
  if (op.FindInput("GTScore") != nullptr) {
    RETURN_IF_ERROR(op.CheckSize("GTScore", yolo.images * yolo.boxes));
  }
  return yolo;
}

absl::Status YoloLoss(OpRun& op) {
  ASSIGN_OR_RETURN(const boxes::YoloLoss yolo, YoloLossOf(op));
  const Array& x = op.Input("X");
  return InTypeOf(x, [&](auto element) -> absl::Status {
    using T = decltype(element);
    Array loss(x.dtype, Dims{yolo.images});
    Array objects(x.dtype, yolo.MaskDims());
    Array matches(VarType::INT32, Dims{yolo.images, yolo.boxes});
    std::vector<T> losses(loss.size());
    std::vector<T> mask(objects.size());
    std::vector<int32_t> matched(matches.size());
    const Truth<T> truth(op);
    RETURN_IF_ERROR(boxes::FindYoloLoss<T>(yolo, ElementsOf<T>(x), truth.view(),
                                           absl::MakeSpan(losses), absl::MakeSpan(mask),
                                           absl::MakeSpan(matched)));
    std::copy(losses.begin(), losses.end(), loss.values.begin());
    std::copy(mask.begin(), mask.end(), objects.values.begin());
    std::copy(matched.begin(), matched.end(), matches.values.begin());
    op.SetOutput("Loss", std::move(loss));
    op.SetOutput("ObjectnessMask", std::move(objects));
    op.SetOutput("GTMatchMask", std::move(matches));
    return absl::OkStatus();
  });
}

absl::Status YoloLossGradient(OpRun& op) {
  ASSIGN_OR_RETURN(const boxes::YoloLoss yolo, YoloLossOf(op));
  RETURN_IF_ERROR(op.CheckDims("Loss@GRAD", Dims{yolo.images}));
  RETURN_IF_ERROR(op.CheckDims("ObjectnessMask", yolo.MaskDims()));
  RETURN_IF_ERROR(op.CheckDims("GTMatchMask", Dims{yolo.images, yolo.boxes}));
  const Array& x = op.Input("X");
  return InTypeOf(x, [&](auto element) -> absl::Status {
    using T = decltype(element);
    const Truth<T> truth(op);
    std::vector<int32_t> matches;
    for (const int64_t match : IntegersOf(op.Input("GTMatchMask"))) {
      matches.push_back(static_cast<int32_t>(match));
    }
    std::vector<T> slopes(x.size());
    RETURN_IF_ERROR(boxes::FindYoloLossGradient<T>(
        yolo, ElementsOf<T>(x), truth.view(), ElementsOf<T>(op.Input("ObjectnessMask")), matches,
        ElementsOf<T>(op.Input("Loss@GRAD")), absl::MakeSpan(slopes)));
    Array dx(x.dtype, x.dims);
    std::copy(slopes.begin(), slopes.end(), dx.values.begin());
    op.SetOutput("X@GRAD", std::move(dx));
    return absl::OkStatus();
  });
}

}  // namespace

Kernels YoloLossKernels() {
  return {{"yolov3_loss", YoloLoss}, {"yolov3_loss_grad", YoloLossGradient}};
}

}  // namespace fixpoint::reference
