#include "runtime/boxes/placed_boxes.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ops/prior_ratios.h"
#include "proto/base/status_macros.h"

namespace fixpoint::boxes {
namespace {

absl::StatusOr<std::vector<double>> VariancesOf(const OpAttributes& op) {
  std::vector<double> variances = op.Floats("variances");
  if (variances.size() == 4) return variances;
  return absl::InvalidArgumentError(
      absl::StrCat("variances has ", variances.size(), " values; want 4"));
}

// Error (kInvalidArgument): the attribute has another number of values.
absl::Status CheckCount(absl::string_view name, size_t count, size_t wanted) {
  if (count == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " has ", count, " values; want ", wanted));
}

// Error (kInvalidArgument): more boxes than a detector has at any place.
absl::Status CheckBoxes(double boxes) {
  constexpr double kMost = 1 << 20;
  if (boxes <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a place has ", boxes, " boxes; want at most ", kMost));
}

// The grid of prior boxes: parts of the image, unless both steps are given.
absl::StatusOr<PlacedBoxes> PriorGridOf(const OpAttributes& op, const PlacedShapes& shapes) {
  PlacedBoxes placed;
  placed.height = shapes.height;
  placed.width = shapes.width;
  placed.unit_x = static_cast<double>(shapes.image_width);
  placed.unit_y = static_cast<double>(shapes.image_height);
  placed.step_x = op.Float("step_w");
  placed.step_y = op.Float("step_h");
  if (!(placed.step_x >= 0 && placed.step_y >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat("step_w is ", placed.step_x, " and step_h ",
                                                   placed.step_y, "; want 0 or more"));
  }
  if (placed.step_x == 0 || placed.step_y == 0) {
    placed.step_x = placed.unit_x / static_cast<double>(shapes.width);
    placed.step_y = placed.unit_y / static_cast<double>(shapes.height);
  }
  placed.first_x = op.Float("offset") * placed.step_x;
  placed.first_y = op.Float("offset") * placed.step_y;
  ASSIGN_OR_RETURN(placed.variances, VariancesOf(op));
  return placed;
}

}  // namespace

absl::StatusOr<PlacedBoxes> PriorBoxesOf(const OpAttributes& op, const PlacedShapes& shapes) {
  ASSIGN_OR_RETURN(PlacedBoxes placed, PriorGridOf(op, shapes));
  if (op.Bool("clip")) placed.clip = PlacedBoxes::Clip::kAll;
  ASSIGN_OR_RETURN(const std::vector<double> ratios,
                   PriorRatios(op.Floats("aspect_ratios"), op.Bool("flip")));
  const std::vector<double> smallest = op.Floats("min_sizes");
  const std::vector<double> largest = op.Floats("max_sizes");
  if (!largest.empty()) RETURN_IF_ERROR(CheckCount("max_sizes", largest.size(), smallest.size()));
  RETURN_IF_ERROR(
      CheckBoxes(static_cast<double>(smallest.size()) * static_cast<double>(ratios.size() + 1)));
  const bool has_square_second = op.Bool("min_max_aspect_ratios_order");
  for (size_t i = 0; i < smallest.size(); ++i) {
    const auto add = [&](double ratio) {
      placed.boxes.push_back(
          {0, 0, smallest[i] * std::sqrt(ratio) / 2, smallest[i] / std::sqrt(ratio) / 2});
    };
    const auto add_square = [&] {
      if (largest.empty()) return;
      const double half = std::sqrt(smallest[i] * largest[i]) / 2;
      placed.boxes.push_back({0, 0, half, half});
    };
    add(1);
    if (has_square_second) add_square();
    for (size_t r = 1; r < ratios.size(); ++r) add(ratios[r]);
    if (!has_square_second) add_square();
  }
  return placed;
}

absl::StatusOr<PlacedBoxes> DensityPriorBoxesOf(const OpAttributes& op,
                                                const PlacedShapes& shapes) {
  ASSIGN_OR_RETURN(PlacedBoxes placed, PriorGridOf(op, shapes));
  placed.clip = op.Bool("clip") ? PlacedBoxes::Clip::kAll : PlacedBoxes::Clip::kCorners;
  const std::vector<double> sizes = op.Floats("fixed_sizes");
  const std::vector<int64_t> densities = op.Ints("densities");
  RETURN_IF_ERROR(CheckCount("densities", densities.size(), sizes.size()));
  double boxes = 0;
  for (const int64_t density : densities) {
    if (density < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("densities has ", density, "; want 1 or more"));
    }
    boxes += static_cast<double>(density) * static_cast<double>(density) *
             static_cast<double>(op.Floats("fixed_ratios").size());
  }
  RETURN_IF_ERROR(CheckBoxes(boxes));
  // Whole numbers, as the reference has them.
  const double step = std::trunc((placed.step_x + placed.step_y) / 2);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double shift = std::trunc(step / static_cast<double>(densities[i]));
    const double first = -step / 2 + shift / 2;
    for (const double ratio : op.Floats("fixed_ratios")) {
      for (int64_t y = 0; y < densities[i]; ++y) {
        for (int64_t x = 0; x < densities[i]; ++x) {
          placed.boxes.push_back(
              {first + static_cast<double>(x) * shift, first + static_cast<double>(y) * shift,
               sizes[i] * std::sqrt(ratio) / 2, sizes[i] / std::sqrt(ratio) / 2});
        }
      }
    }
  }
  return placed;
}

absl::StatusOr<PlacedBoxes> AnchorsOf(const OpAttributes& op, const PlacedShapes& shapes) {
  PlacedBoxes placed;
  placed.height = shapes.height;
  placed.width = shapes.width;
  const std::vector<double> stride = op.Floats("stride");
  RETURN_IF_ERROR(CheckCount("stride", stride.size(), 2));
  placed.step_x = stride[0];
  placed.step_y = stride[1];
  placed.first_x = op.Float("offset") * (stride[0] - 1);
  placed.first_y = op.Float("offset") * (stride[1] - 1);
  ASSIGN_OR_RETURN(placed.variances, VariancesOf(op));
  RETURN_IF_ERROR(CheckBoxes(static_cast<double>(op.Floats("aspect_ratios").size()) *
                             static_cast<double>(op.Floats("anchor_sizes").size())));
  for (const double ratio : op.Floats("aspect_ratios")) {
    const double base_width = std::round(std::sqrt(stride[0] * stride[1] / ratio));
    const double base_height = std::round(base_width * ratio);
    for (const double size : op.Floats("anchor_sizes")) {
      placed.boxes.push_back({0, 0, (size / stride[0] * base_width - 1) / 2,
                              (size / stride[1] * base_height - 1) / 2});
    }
  }
  return placed;
}

}  // namespace fixpoint::boxes
