// A rectifier whose slope below 0 is learned.

#include "runtime/kernels/prelu.h"

#include "absl/strings/str_cat.h"
#include "ops/window.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/op_plans.h"

namespace fixpoint::executor {
namespace {

using kernels::PreluShape;

// How X is read, and which slope belongs to which element.
struct Reading {
  Layout layout = Layout::kRowMajor;
  PreluShape shape;
};

// Alpha has one element (mode all), one for each channel, or one for each element of an image.
absl::StatusOr<Reading> ReadingOf(const OpPlanner& op, Layout held) {
  const std::string mode = op.attributes().String("mode");
  const Dims& dims = op.InputDims("X");
  const int64_t size = op.InputType("X").size();
  Reading reading;
  if (mode == "all") {
    reading.layout = held;
    reading.shape.inner = size;
  } else if (dims.size() < 2 || (mode != "channel" && mode != "element")) {
    return absl::InvalidArgumentError(absl::StrCat("mode is \"", mode, "\" and X ", DimsText(dims),
                                                   "; want all, channel or element of images"));
  } else if (mode == "element") {
    reading.shape.outer = dims[0];
    reading.shape.slopes = dims[0] > 0 ? size / dims[0] : 0;
  } else if (IsChannelsLast(op.attributes().String("data_format"))) {
    reading.shape.slopes = dims.back();
    reading.shape.outer = dims.back() > 0 ? size / dims.back() : 0;
  } else {
    reading.layout = held;
    reading.shape.slopes = dims[1];
    const int64_t places = dims[0] * dims[1] > 0 ? size / dims[0] / dims[1] : 0;
    const bool channels_last = held == Layout::kChannelsLast;
    reading.shape.outer = channels_last ? dims[0] * places : dims[0];
    reading.shape.inner = channels_last ? 1 : places;
  }
  RETURN_IF_ERROR(op.CheckSize("Alpha", reading.shape.slopes));
  return reading;
}

absl::Status PlanPrelu(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Reading reading, ReadingOf(op, op.InputLayout("X")));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", reading.layout));
  ASSIGN_OR_RETURN(const Buffer alpha, op.ReadFloats("Alpha"));
  const Buffer y = op.WriteOver("Out", op.InputType("X"), reading.layout, x);
  op.AddStep({{x, alpha}, {y}, [=, shape = reading.shape](const StepContext& run) {
                kernels::Prelu(shape, run.Floats(x), run.Floats(alpha), run.Floats(y));
                return absl::OkStatus();
              }});
  return absl::OkStatus();
}

absl::Status PlanGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Reading reading, ReadingOf(op, op.InputLayout("Out@GRAD")));
  const PreluShape& shape = reading.shape;
  RETURN_IF_ERROR(op.CheckSize("Out@GRAD", shape.size()));
  ASSIGN_OR_RETURN(const Buffer x, op.ReadFloats("X", reading.layout));
  ASSIGN_OR_RETURN(const Buffer dy, op.ReadFloats("Out@GRAD", reading.layout));
  if (op.Wants("Alpha@GRAD")) {
    const Buffer sums = op.Scratch("sums", VarType::FP64, shape.slopes);
    const Buffer dalpha = op.WriteAs("Alpha@GRAD", op.InputType("Alpha"));
    op.AddStep({{x, dy},
                {sums, dalpha},
                [=](const StepContext& run) {
                  kernels::PreluBackwardSlopes(shape, run.Floats(x), run.Floats(dy),
                                               run.Of<double>(sums), run.Floats(dalpha));
                  return absl::OkStatus();
                },
                "",
                0,
                "prelu_grad of slopes"});
  }
  if (op.Wants("X@GRAD")) {
    ASSIGN_OR_RETURN(const Buffer alpha, op.ReadFloats("Alpha"));
    const Buffer dx = op.WriteOver("X@GRAD", op.InputType("X"), reading.layout, dy);
    op.AddStep({{x, alpha, dy}, {dx}, [=](const StepContext& run) {
                  kernels::PreluBackward(shape, run.Floats(x), run.Floats(alpha), run.Floats(dy),
                                         run.Floats(dx));
                  return absl::OkStatus();
                }});
  }
  return absl::OkStatus();
}

}  // namespace

OpPlans PreluPlans() { return {{"prelu", PlanPrelu}, {"prelu_grad", PlanGradient}}; }

}  // namespace fixpoint::executor
