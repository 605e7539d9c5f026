#include "runtime/kernels/convolution_parts.h"

#include <algorithm>

#include "runtime/kernels/machine.h"

namespace fixpoint::kernels {
namespace {

using Cut = ConvolutionParts::Cut;
using Part = ConvolutionParts::Part;

// How many products take as long as adding an element of a part to another's, or copying one of the
// output, and what share of the time that may take, on one thread too. Two parts make the largest
// difference to two threads.
constexpr double kProductsOfElement = 20;
constexpr double kLostToTwo = 0.1;
constexpr double kLostToMore = 0.03;

// Filters lie in vectors of as many. A part reads the images again, which is little for two
// vectors.
constexpr int64_t kVector = 16;

int64_t Pixels(const ConvolutionShape& shape) {
  return shape.batch * shape.out_height * shape.out_width;
}

// Rows [first, last) of the output of `images` images.
Part RowsOf(const ConvolutionShape& shape, int64_t images, int64_t first, int64_t last) {
  Part part{shape};
  WindowAxis& rows = part.shape.window[0];
  const int64_t begin = first * rows.stride - rows.pad_before;
  const int64_t end =
      (last - 1) * rows.stride - rows.pad_before + rows.dilation * (rows.kernel - 1) + 1;
  const int64_t top = std::max<int64_t>(begin, 0);
  const int64_t bottom = std::min(end, shape.height);
  rows.pad_before = top - begin;
  rows.pad_after = end - bottom;
  part.shape.batch = images;
  part.shape.height = bottom - top;
  part.shape.out_height = last - first;
  part.x = top * shape.width * shape.channels;
  part.dy = first * shape.out_width * shape.filters;
  return part;
}

// Into images if there are enough, or each into rows, which every row of the filters meets.
// Nothing: there are too few, or a part would lie in the padding.
std::vector<Part> CutImages(const ConvolutionShape& shape, int64_t count) {
  const int64_t image = shape.height * shape.width * shape.channels;
  const int64_t output = shape.out_height * shape.out_width * shape.filters;
  std::vector<Part> parts;
  if (shape.batch >= count) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = shape.batch * i / count;
      Part part{shape, first * image, first * output};
      part.shape.batch = shape.batch * (i + 1) / count - first;
      parts.push_back(part);
    }
    return parts;
  }
  const int64_t of_each = count / shape.batch;
  const WindowAxis& rows = shape.window[0];
  if (count % shape.batch != 0 ||
      shape.out_height < of_each * (rows.dilation * (rows.kernel - 1) + 1)) {
    return {};
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t n = i / of_each;
    Part part = RowsOf(shape, 1, shape.out_height * (i % of_each) / of_each,
                       shape.out_height * (i % of_each + 1) / of_each);
    if (part.shape.height <= 0) return {};
    part.x += n * image;
    part.dy += n * output;
    parts.push_back(part);
  }
  return parts;
}

std::vector<Part> CutFilters(const ConvolutionShape& shape, int64_t count) {
  const int64_t vectors = count == 2 ? 1 : 2;
  if (shape.groups != 1 || shape.filters % (count * vectors * kVector) != 0) return {};
  std::vector<Part> parts;
  for (int64_t i = 0; i < count; ++i) {
    Part part{shape, 0, shape.filters / count * i};
    part.shape.filters = shape.filters / count;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

ConvolutionParts PartsOfFilterGradient(const ConvolutionShape& shape, int64_t most) {
  const double pixels = static_cast<double>(Pixels(shape));
  const int64_t products = Pixels(shape) * shape.filter_size();
  for (int64_t count = kMostParts; count > 1; count /= 2) {
    if (count > most || products < count * kProductsOfPart) continue;
    const double may_lose = count == 2 ? kLostToTwo : kLostToMore;
    const double lost_to_adding = kProductsOfElement * static_cast<double>(count - 1) / pixels;
    const double lost_to_copying = kProductsOfElement / static_cast<double>(shape.taps());
    ConvolutionParts of_images{Cut::kImages, CutImages(shape, count)};
    ConvolutionParts of_filters{Cut::kFilters, CutFilters(shape, count)};
    const bool can_add = !of_images.parts.empty() && lost_to_adding <= may_lose;
    const bool can_copy = !of_filters.parts.empty() && lost_to_copying <= may_lose;
    // Copies of the output take memory, so that they have to be worth it.
    const bool is_adding_better =
        lost_to_adding <= std::max(lost_to_copying, kLostToMore / 2) || !can_copy;
    if (can_add && is_adding_better) return of_images;
    if (can_copy) return of_filters;
  }
  return {Cut::kImages, {Part{shape}}};
}

}  // namespace fixpoint::kernels
