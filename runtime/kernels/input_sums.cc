#include "runtime/kernels/input_sums.h"

#include <algorithm>

#include "runtime/kernels/parallel_for.h"

namespace fixpoint::kernels {
namespace {

// Treats rows as the pixels of images with one line.
ConvolutionShape AsImages(const ProductShape& product) {
  ConvolutionShape shape;
  shape.batch = product.batch;
  shape.channels = product.inner;
  shape.width = shape.out_width = product.rows;
  return shape;
}

template <typename Code>
void AddUpRuns(const Code* codes, int64_t run, int32_t zero_point, absl::Span<int32_t> sums_span) {
  ParallelFor(static_cast<int64_t>(sums_span.size()), run,
              [=, sums = sums_span.data()](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const Code* const first = codes + i * run;
                  int32_t sum = 0;
                  for (int64_t k = 0; k < run; ++k) sum += first[k];
                  sums[i] = sum - static_cast<int32_t>(run) * zero_point;
                }
              });
}

template <typename Code>
void AddUpColumns(const Code* codes, int64_t inner, int64_t rows, int32_t zero_point,
                  absl::Span<int32_t> sums_span) {
  ParallelFor(static_cast<int64_t>(sums_span.size()), inner,
              [=, sums = sums_span.data()](int64_t begin, int64_t end) {
                std::fill(sums + begin, sums + end, -static_cast<int32_t>(inner) * zero_point);
                while (begin < end) {
                  const int64_t matrix = begin / rows;
                  const int64_t last = std::min(end, (matrix + 1) * rows);
                  const Code* const column = codes + matrix * (inner - 1) * rows;
                  for (int64_t k = 0; k < inner; ++k) {
                    for (int64_t i = begin; i < last; ++i) sums[i] += column[k * rows + i];
                  }
                  begin = last;
                }
              });
}

// The windows of a line of all images' output pixels.
void AddUpLine(const ConvolutionShape& shape, const int32_t* pixels, int64_t line, int32_t* sums) {
  const auto& [rows, columns] = shape.window;
  const int64_t groups = shape.groups;
  const int64_t image = line / shape.out_height;
  const int64_t y = line % shape.out_height;
  std::fill_n(sums, shape.out_width * groups, 0);
  for (int64_t x = 0; x < shape.out_width; ++x, sums += groups) {
    for (int64_t i = 0; i < rows.kernel; ++i) {
      const int64_t row = y * rows.stride + i * rows.dilation - rows.pad_before;
      if (row < 0 || row >= shape.height) continue;
      for (int64_t j = 0; j < columns.kernel; ++j) {
        const int64_t column = x * columns.stride + j * columns.dilation - columns.pad_before;
        if (column < 0 || column >= shape.width) continue;
        const int32_t* const pixel =
            pixels + ((image * shape.height + row) * shape.width + column) * groups;
        for (int64_t g = 0; g < groups; ++g) sums[g] += pixel[g];
      }
    }
  }
}

}  // namespace

InputSums::InputSums(const ConvolutionShape& shape, CodeType type)
    : shape_(shape),
      type_(type),
      is_transposed_(false),
      pixels_(shape.batch * shape.height * shape.width * shape.groups),
      windows_(shape.is_pointwise()
                   ? 0
                   : shape.batch * shape.out_height * shape.out_width * shape.groups) {}

InputSums::InputSums(const ProductShape& shape, CodeType type)
    : shape_(AsImages(shape)),
      type_(type),
      is_transposed_(shape.transpose_x),
      pixels_(shape.batch * shape.rows) {}

const int32_t* InputSums::Run(absl::Span<const uint8_t> inputs, int32_t zero_point) {
  AddUpPixels(inputs, zero_point);
  if (windows_.empty()) return pixels_.data();
  AddUpWindows();
  return windows_.data();
}

void InputSums::AddUpPixels(absl::Span<const uint8_t> inputs, int32_t zero_point) {
  const auto add_up = [&](const auto* codes) {
    if (is_transposed_) {
      AddUpColumns(codes, shape_.channels, shape_.width, zero_point, absl::MakeSpan(pixels_));
    } else {
      AddUpRuns(codes, shape_.channels / shape_.groups, zero_point, absl::MakeSpan(pixels_));
    }
  };
  if (type_ == CodeType::kUint8) {
    add_up(inputs.data());
  } else {
    add_up(reinterpret_cast<const int8_t*>(inputs.data()));
  }
}

void InputSums::AddUpWindows() {
  const int64_t taps = shape_.window[0].kernel * shape_.window[1].kernel;
  ParallelFor(shape_.batch * shape_.out_height,
              shape_.out_width * shape_.groups * taps * static_cast<int64_t>(sizeof(int32_t)),
              [shape = shape_, pixels = pixels_.data(), windows = windows_.data()](int64_t begin,
                                                                                   int64_t end) {
                for (int64_t line = begin; line < end; ++line) {
                  AddUpLine(shape, pixels, line, windows + line * shape.out_width * shape.groups);
                }
              });
}

}  // namespace fixpoint::kernels
