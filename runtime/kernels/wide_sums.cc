#include "runtime/kernels/wide_sums.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/sums_of_codes.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/machine.h"
#include "runtime/kernels/parallel_for.h"
#include "runtime/kernels/threads.h"
#include "runtime/kernels/vectorised.h"

namespace fixpoint::kernels {
namespace {

// sums[c] += sum over k of line[k] * weights[k, c]. A product of two codes fits in 32 bits.
void AddProducts(const int16_t* line, const int16_t* weights, int64_t taps, int64_t columns,
                 int64_t* sums) {
  Vectorised([=] {
    int64_t k = 0;
    for (; k + 4 <= taps; k += 4) {
      const int32_t x[4] = {line[k], line[k + 1], line[k + 2], line[k + 3]};
      const int16_t* const w = weights + k * columns;
      for (int64_t c = 0; c < columns; ++c) {
        sums[c] += int64_t{x[0] * w[c]} + int64_t{x[1] * w[columns + c]} +
                   int64_t{x[2] * w[2 * columns + c]} + int64_t{x[3] * w[3 * columns + c]};
      }
    }
    for (; k < taps; ++k) {
      const int32_t x = line[k];
      const int16_t* const w = weights + k * columns;
      for (int64_t c = 0; c < columns; ++c) sums[c] += int64_t{x * w[c]};
    }
  });
}

// Where the inputs of sums lie, and their weights, which are packed as matrices of [taps, columns]:
// one for each group of filters.
class ConvolutionLines {
 public:
  explicit ConvolutionLines(const ConvolutionShape& shape) : shape_(shape) {}

  int64_t rows() const { return shape_.batch * shape_.out_height * shape_.out_width; }
  int64_t channels() const { return shape_.filters; }
  int64_t input_size() const { return shape_.input_size(); }
  int64_t taps() const { return shape_.taps(); }
  int64_t columns() const { return shape_.filters / shape_.groups; }
  int64_t matrices() const { return shape_.groups; }
  int64_t first_matrix(int64_t /*row*/) const { return 0; }
  int64_t matrices_of_row() const { return shape_.groups; }
  // Taps are in the order of an image in memory, with the channels last.
  int64_t weight_at(int64_t matrix, int64_t tap, int64_t column) const {
    const int64_t of_group = shape_.channels / shape_.groups;
    const int64_t area = shape_.window[0].kernel * shape_.window[1].kernel;
    return (matrix * columns() + column) * taps() + tap % of_group * area + tap / of_group;
  }

  const int16_t* Line(const int16_t* inputs, int64_t row, int64_t group, int16_t* memory) const {
    const WindowAxis& vertical = shape_.window[0];
    const WindowAxis& horizontal = shape_.window[1];
    const int64_t x = row % shape_.out_width;
    const int64_t y = row / shape_.out_width % shape_.out_height;
    const int64_t image = row / shape_.out_width / shape_.out_height;
    const int64_t of_group = shape_.channels / shape_.groups;
    int16_t* to = memory;
    for (int64_t i = 0; i < vertical.kernel; ++i) {
      const int64_t from_y = y * vertical.stride - vertical.pad_before + i * vertical.dilation;
      for (int64_t j = 0; j < horizontal.kernel; ++j, to += of_group) {
        const int64_t from_x =
            x * horizontal.stride - horizontal.pad_before + j * horizontal.dilation;
        if (from_y < 0 || from_y >= shape_.height || from_x < 0 || from_x >= shape_.width) {
          std::fill_n(to, of_group, int16_t{0});
          continue;
        }
        const int64_t pixel = (image * shape_.height + from_y) * shape_.width + from_x;
        std::copy_n(inputs + pixel * shape_.channels + group * of_group, of_group, to);
      }
    }
    return memory;
  }

 private:
  ConvolutionShape shape_;
};

// The same for products: one matrix of weights for each of a batch.
class ProductLines {
 public:
  explicit ProductLines(const ProductShape& shape) : shape_(shape) {}

  int64_t rows() const { return shape_.batch * shape_.rows; }
  int64_t channels() const { return shape_.columns; }
  int64_t input_size() const { return shape_.x_size(); }
  int64_t taps() const { return shape_.inner; }
  int64_t columns() const { return shape_.columns; }
  int64_t matrices() const { return shape_.batch; }
  int64_t first_matrix(int64_t row) const { return row / shape_.rows; }
  int64_t matrices_of_row() const { return 1; }
  int64_t weight_at(int64_t matrix, int64_t tap, int64_t column) const {
    const int64_t in_matrix =
        shape_.transpose_y ? column * shape_.inner + tap : tap * shape_.columns + column;
    return matrix * shape_.inner * shape_.columns + in_matrix;
  }

  const int16_t* Line(const int16_t* inputs, int64_t row, int64_t matrix, int16_t* memory) const {
    if (!shape_.transpose_x) return inputs + row * shape_.inner;
    const int16_t* const from = inputs + matrix * shape_.rows * shape_.inner + row % shape_.rows;
    for (int64_t k = 0; k < shape_.inner; ++k) memory[k] = from[k * shape_.rows];
    return memory;
  }

 private:
  ProductShape shape_;
};

template <typename Lines>
class WideSumsOf final : public WideSums {
 public:
  WideSumsOf(Lines lines, const Epilogue& epilogue, OutputType output)
      : lines_(std::move(lines)),
        epilogue_(epilogue),
        output_(output),
        threads_(static_cast<int>(std::clamp<int64_t>(
            lines_.rows() * lines_.taps() * lines_.channels() / kProductsOfThread, 1,
            GrantedThreads()))),
        block_rows_(std::clamp<int64_t>(
            ThisMachine().block_bytes() / (lines_.channels() * static_cast<int64_t>(sizeof(float))),
            1, std::max<int64_t>(lines_.rows(), 1))),
        memory_(threads_) {
    for (Memory& memory : memory_) {
      memory.line.resize(lines_.taps());
      memory.sums.resize(lines_.channels());
      memory.elements.resize(block_rows_ * lines_.channels());
    }
  }

  int64_t packed_bytes() const override {
    return lines_.matrices() * lines_.taps() * lines_.columns() *
           static_cast<int64_t>(sizeof(int16_t));
  }

  void Pack(absl::Span<const int16_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    CHECK_EQ(codes.size() * sizeof(int16_t), packed.size());
    auto* to = reinterpret_cast<int16_t*>(packed.data());
    for (int64_t matrix = 0; matrix < lines_.matrices(); ++matrix) {
      for (int64_t tap = 0; tap < lines_.taps(); ++tap) {
        for (int64_t c = 0; c < lines_.columns(); ++c) {
          *to++ = codes[lines_.weight_at(matrix, tap, c)];
        }
      }
    }
  }

  void Run(const WideOperands& operands, Output out) override {
    CHECK_EQ(static_cast<int64_t>(operands.inputs.size()), lines_.input_size());
    CHECK_EQ(static_cast<int64_t>(operands.weights.size()), packed_bytes());
    CHECK_EQ(static_cast<int64_t>(operands.scales.size()), lines_.channels());
    CHECK_EQ(static_cast<int64_t>(out.size()), lines_.rows() * lines_.channels());
    CHECK_EQ(operands.epilogue.size(), epilogue_.size());
    CHECK(out.type() == output_);
    RunOnThreads(threads_, lines_.rows(), [&](int thread, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; row += block_rows_) {
        RunBlock(operands, row, std::min(block_rows_, end - row), memory_[thread], out);
      }
    });
  }

  std::string implementation() const override { return LoopsName(); }

 private:
  // So many products take a thread longer than it takes to start.
  static constexpr int64_t kProductsOfThread = 1 << 16;

  // What a thread works in.
  struct Memory {
    std::vector<int16_t> line;
    std::vector<int64_t> sums;    // of a row
    std::vector<float> elements;  // of a block
  };

  void RunBlock(const WideOperands& operands, int64_t first, int64_t rows, Memory& memory,
                Output out) const {
    const int64_t channels = lines_.channels();
    const auto elements = absl::MakeSpan(memory.elements).first(rows * channels);
    for (int64_t i = 0; i < rows; ++i) {
      AddUpRow(operands, first + i, memory);
      const int64_t* const sums = memory.sums.data();
      const float* const scales = operands.scales.data();
      float* const to = &elements[i * channels];
      Vectorised([=] {
        for (int64_t c = 0; c < channels; ++c) to[c] = static_cast<float>(sums[c]) * scales[c];
      });
    }
    absl::InlinedVector<absl::Span<const float>, 8> of_block(operands.epilogue.begin(),
                                                             operands.epilogue.end());
    for (size_t i = 0; i < of_block.size(); ++i) {
      if (epilogue_[i].kind == EpilogueStage::Kind::kAddElement) {
        of_block[i] = of_block[i].subspan(first * channels, elements.size());
      }
    }
    Store(epilogue_, of_block, elements, out.Part(first * channels, elements.size()));
  }

  void AddUpRow(const WideOperands& operands, int64_t row, Memory& memory) const {
    std::fill(memory.sums.begin(), memory.sums.end(), 0);
    const auto* const weights = reinterpret_cast<const int16_t*>(operands.weights.data());
    const int64_t size = lines_.taps() * lines_.columns();
    const int64_t first = lines_.first_matrix(row);
    for (int64_t i = 0; i < lines_.matrices_of_row(); ++i) {
      const int64_t matrix = first + i;
      const int16_t* const line =
          lines_.Line(operands.inputs.data(), row, matrix, memory.line.data());
      AddProducts(line, weights + matrix * size, lines_.taps(), lines_.columns(),
                  memory.sums.data() + i * lines_.columns());
    }
  }

  const Lines lines_;
  const Epilogue epilogue_;
  const OutputType output_;
  const int threads_;
  const int64_t block_rows_;
  std::vector<Memory> memory_;
};

absl::Status CheckProducts(int64_t products) {
  if (products <= kMostWideProducts) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a sum has ", products, " products of wide codes; want at most ", kMostWideProducts));
}

}  // namespace

absl::StatusOr<std::unique_ptr<WideSums>> WideSums::Plan(ConvolutionShape shape,
                                                         const Epilogue& epilogue,
                                                         OutputType output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  RETURN_IF_ERROR(CheckProducts(shape.taps()));
  return std::make_unique<WideSumsOf<ConvolutionLines>>(ConvolutionLines(shape), epilogue, output);
}

absl::StatusOr<std::unique_ptr<WideSums>> WideSums::Plan(const ProductShape& shape,
                                                         const Epilogue& epilogue,
                                                         OutputType output) {
  RETURN_IF_ERROR(CheckShape(shape));
  RETURN_IF_ERROR(CheckProducts(shape.inner));
  return std::make_unique<WideSumsOf<ProductLines>>(ProductLines(shape), epilogue, output);
}

}  // namespace fixpoint::kernels
