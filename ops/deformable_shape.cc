#include "ops/deformable_shape.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"

namespace fixpoint {

absl::StatusOr<DeformableShape> DeformableShapeOf(const OpAttributes& op, DimsView input,
                                                  DimsView filter) {
  const auto refuse = [&](absl::string_view want) {
    return absl::InvalidArgumentError(absl::StrCat("Input is ", DimsText(input), " and Filter ",
                                                   DimsText(filter), "; want ", want));
  };
  if (input.size() != 4 || filter.size() != 4) return refuse("4 dimensions");
  DeformableShape shape{};
  shape.groups = op.Int("groups");
  shape.offset_groups = op.Int("deformable_groups");
  if (shape.groups < 1 || shape.offset_groups < 1) {
    return absl::InvalidArgumentError(absl::StrCat("groups is ", shape.groups,
                                                   " and deformable_groups ", shape.offset_groups,
                                                   "; want 1 or more"));
  }
  const bool fits = input[1] > 0 && input[1] % shape.groups == 0 &&
                    input[1] % shape.offset_groups == 0 && filter[0] % shape.groups == 0 &&
                    filter[1] == input[1] / shape.groups;
  if (!fits) {
    return refuse(absl::StrCat("channels in ", shape.groups, " groups, and in ",
                               shape.offset_groups, " that are moved alike"));
  }
  const WindowAttrs attrs{op.Ints("strides"), op.Ints("paddings"), op.Ints("dilations"),
                          "EXPLICIT"};
  ASSIGN_OR_RETURN(shape.window, MakeWindow(attrs, filter.subspan(2, 2), input.subspan(2, 2)));
  shape.batch = input[0];
  shape.channels = input[1];
  shape.height = input[2];
  shape.width = input[3];
  shape.out_channels = filter[0];
  ASSIGN_OR_RETURN(shape.out_height, WindowCount(shape.height, shape.window[0]));
  ASSIGN_OR_RETURN(shape.out_width, WindowCount(shape.width, shape.window[1]));
  // The columns of all taps, which no product may overflow.
  RETURN_IF_ERROR(ElementCount({shape.batch, shape.channels, filter[2], filter[3], shape.out_height,
                                shape.out_width})
                      .status());
  return shape;
}

}  // namespace fixpoint
