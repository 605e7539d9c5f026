#include "ops/attribute_inputs.h"

namespace fixpoint {

absl::Span<const AttributeInput> AttributeInputs() {
  static constexpr AttributeInput kInputs[] = {
      {"ShapeTensor", "shape"},
      {"Shape", "shape"},
      {"ShapeTensorList", "shape"},
      {"expand_shapes_tensor", "shape"},
      {"ExpandTimes", "expand_times"},
      {"expand_times_tensor", "expand_times"},
      {"RepeatTimes", "repeat_times"},
      {"repeat_times_tensor", "repeat_times"},
      {"StartsTensor", "starts"},
      {"StartsTensorList", "starts"},
      {"EndsTensor", "ends"},
      {"EndsTensorList", "ends"},
      {"StridesTensor", "strides"},
      {"StridesTensorList", "strides"},
      {"StepsTensorList", "steps"},
      {"Paddings", "paddings"},
      {"ShiftsTensor", "shifts"},
      {"AxesTensor", "axes"},
      {"AxesTensorList", "axes"},
      {"SectionsTensorList", "sections"},
      {"AxisTensor", "axis"},
      {"Axis", "axis"},
      {"K", "k"},
      {"depth_tensor", "depth"},
      {"OutputShape", "output_shape"},
  };
  return kInputs;
}

}  // namespace fixpoint
