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

// Products are added in 32 bits for so many taps, and then in 64: none of them is above kLargest32.
constexpr int64_t kTaps32 = 256;
constexpr int64_t kLargest32 = INT32_MAX / kTaps32;

// Lines and columns have zeros at their end, so that they are whole vectors.
constexpr int64_t kTapsOfVector = 32;

int64_t PaddedTaps(int64_t taps) {
  return (taps + kTapsOfVector - 1) / kTapsOfVector * kTapsOfVector;
}

// Lines of inputs, one after the other, as numbers that are added with a unit.
struct Part {
  const int16_t* lines;
  int64_t unit;
};

// sums[r * channels + c] += unit * (the sum over k of lines[r, k] * columns[c, k]).
// REQUIRES: no product is above kLargest32.
template <int kRows, int kColumns>
void AddTile(const Part& part, const int16_t* columns, int64_t taps, int64_t* sums,
             int64_t channels) {
  for (int64_t begin = 0; begin < taps; begin += kTaps32) {
    const int64_t size = std::min(kTaps32, taps - begin);
    int32_t sums32[kRows][kColumns] = {};
    const int16_t* const x = part.lines + begin;
    const int16_t* const w = columns + begin;
    for (int64_t k = 0; k < size; ++k) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (int c = 0; c < kColumns; ++c) {
          sums32[r][c] += int32_t{x[r * taps + k]} * int32_t{w[c * taps + k]};
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kColumns; ++c) sums[r * channels + c] += part.unit * sums32[r][c];
    }
  }
}

// The same for all columns of a matrix.
template <int kRows>
void AddMatrix(absl::Span<const Part> parts, const int16_t* columns, int64_t taps, int64_t count,
               int64_t* sums, int64_t channels) {
  int64_t c = 0;
  for (; c + 2 <= count; c += 2) {
    for (const Part& part : parts) {
      AddTile<kRows, 2>(part, columns + c * taps, taps, sums + c, channels);
    }
  }
  if (c == count) return;
  for (const Part& part : parts) {
    AddTile<kRows, 1>(part, columns + c * taps, taps, sums + c, channels);
  }
}

// The largest magnitude of codes.
int32_t LargestOf(const int16_t* codes, int64_t size) {
  int32_t largest = 0;
  Vectorised([=, &largest] {
    int16_t low = 0;
    int16_t high = 0;
    for (int64_t i = 0; i < size; ++i) {
      low = std::min(low, codes[i]);
      high = std::max(high, codes[i]);
    }
    largest = std::max<int32_t>(-low, high);
  });
  return largest;
}

// x = low + 256 * high, both of which have magnitudes of at most 128.
void Split(const int16_t* x, int64_t size, int16_t* low, int16_t* high) {
  Vectorised([=] {
    for (int64_t i = 0; i < size; ++i) {
      const int32_t rest = ((x[i] + 128) & 255) - 128;
      low[i] = static_cast<int16_t>(rest);
      high[i] = static_cast<int16_t>((x[i] - rest) >> 8);
    }
  });
}

// Where the inputs of sums lie, and their weights, which are packed as matrices of [columns, taps]:
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

  // How many rows from `row` on have the same matrices.
  int64_t rows_alike(int64_t row) const { return rows() - row; }

  // Writes what the weights of a matrix are multiplied with for a row.
  void Read(const int16_t* inputs, int64_t row, int64_t group, int16_t* to) const {
    const WindowAxis& vertical = shape_.window[0];
    const WindowAxis& horizontal = shape_.window[1];
    const int64_t x = row % shape_.out_width;
    const int64_t y = row / shape_.out_width % shape_.out_height;
    const int64_t image = row / shape_.out_width / shape_.out_height;
    const int64_t of_group = shape_.channels / shape_.groups;
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

  int64_t rows_alike(int64_t row) const { return shape_.rows - row % shape_.rows; }

  void Read(const int16_t* inputs, int64_t row, int64_t matrix, int16_t* to) const {
    if (!shape_.transpose_x) {
      std::copy_n(inputs + row * shape_.inner, shape_.inner, to);
      return;
    }
    const int16_t* const from = inputs + matrix * shape_.rows * shape_.inner + row % shape_.rows;
    for (int64_t k = 0; k < shape_.inner; ++k) to[k] = from[k * shape_.rows];
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
        taps_(PaddedTaps(lines_.taps())),
        threads_(static_cast<int>(std::clamp<int64_t>(
            lines_.rows() * lines_.taps() * lines_.channels() / kWideProductsOfThread, 1,
            GrantedThreads()))),
        block_rows_(std::clamp<int64_t>(
            ThisMachine().block_bytes() / (lines_.channels() * static_cast<int64_t>(sizeof(float))),
            1, std::max<int64_t>(lines_.rows(), 1))),
        memory_(threads_) {
    for (Memory& memory : memory_) {
      memory.lines.resize(kRows * taps_);
      memory.low.resize(kRows * taps_);
      memory.high.resize(kRows * taps_);
      memory.sums.resize(kRows * lines_.channels());
      memory.elements.resize(block_rows_ * lines_.channels());
    }
  }

  // The largest magnitude of a code, and the codes: [matrix, column, tap].
  int64_t packed_bytes() const override {
    return kHeaderBytes +
           lines_.matrices() * lines_.columns() * taps_ * static_cast<int64_t>(sizeof(int16_t));
  }

  void Pack(absl::Span<const int16_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes());
    CHECK_EQ(static_cast<int64_t>(codes.size()),
             lines_.matrices() * lines_.columns() * lines_.taps());
    std::fill(packed.begin(), packed.end(), 0);
    *reinterpret_cast<int32_t*>(packed.data()) = LargestOf(codes.data(), codes.size());
    auto* to = reinterpret_cast<int16_t*>(packed.data() + kHeaderBytes);
    for (int64_t matrix = 0; matrix < lines_.matrices(); ++matrix) {
      for (int64_t c = 0; c < lines_.columns(); ++c, to += taps_) {
        for (int64_t tap = 0; tap < lines_.taps(); ++tap) {
          to[tap] = codes[lines_.weight_at(matrix, tap, c)];
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
  // As kProductsOfThread (machine.h), but of codes of 16 bits, of which fewer take as long.
  static constexpr int64_t kWideProductsOfThread = int64_t{256} << 10;

  // Rows that are added up together, so that each column is loaded once for all of them.
  static constexpr int64_t kRows = 4;

  // So that codes begin where a cache line does.
  static constexpr int64_t kHeaderBytes = 64;

  // What a thread works in.
  struct Memory {
    std::vector<int16_t> lines;  // of kRows rows
    std::vector<int16_t> low;    // the same, split
    std::vector<int16_t> high;
    std::vector<int64_t> sums;    // of kRows rows
    std::vector<float> elements;  // of a block
  };

  void RunBlock(const WideOperands& operands, int64_t first, int64_t rows, Memory& memory,
                Output out) const {
    const int64_t channels = lines_.channels();
    const auto elements = absl::MakeSpan(memory.elements).first(rows * channels);
    for (int64_t i = 0; i < rows;) {
      const int64_t count = std::min({kRows, rows - i, lines_.rows_alike(first + i)});
      AddUpRows(operands, first + i, count, memory);
      const int64_t* const sums = memory.sums.data();
      const float* const scales = operands.scales.data();
      float* const to = &elements[i * channels];
      Vectorised([=] {
        for (int64_t r = 0; r < count; ++r) {
          for (int64_t c = 0; c < channels; ++c) {
            to[r * channels + c] = static_cast<float>(sums[r * channels + c]) * scales[c];
          }
        }
      });
      i += count;
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

  void AddUpRows(const WideOperands& operands, int64_t row, int64_t count, Memory& memory) const {
    std::fill(memory.sums.begin(), memory.sums.end(), 0);
    const int32_t largest_weight = *reinterpret_cast<const int32_t*>(operands.weights.data());
    const auto* const weights =
        reinterpret_cast<const int16_t*>(operands.weights.data() + kHeaderBytes);
    const int64_t first = lines_.first_matrix(row);
    for (int64_t i = 0; i < lines_.matrices_of_row(); ++i) {
      for (int64_t r = 0; r < count; ++r) {
        lines_.Read(operands.inputs.data(), row + r, first + i, &memory.lines[r * taps_]);
      }
      const int64_t size = count * taps_;
      absl::InlinedVector<Part, 2> parts;
      if (int64_t{LargestOf(memory.lines.data(), size)} * largest_weight <= kLargest32) {
        parts = {{memory.lines.data(), 1}};
      } else {
        Split(memory.lines.data(), size, memory.low.data(), memory.high.data());
        parts = {{memory.low.data(), 1}, {memory.high.data(), 256}};
      }
      AddMatrices(parts, weights + (first + i) * lines_.columns() * taps_, count,
                  memory.sums.data() + i * lines_.columns());
    }
  }

  void AddMatrices(absl::Span<const Part> parts, const int16_t* columns, int64_t rows,
                   int64_t* sums) const {
    const int64_t taps = taps_;
    const int64_t count = lines_.columns();
    const int64_t channels = lines_.channels();
    Vectorised([=] {
      if (rows == kRows) return AddMatrix<kRows>(parts, columns, taps, count, sums, channels);
      for (int64_t r = 0; r < rows; ++r) {
        absl::InlinedVector<Part, 2> of_row(parts.begin(), parts.end());
        for (Part& part : of_row) part.lines += r * taps;
        AddMatrix<1>(of_row, columns, taps, count, sums + r * channels, channels);
      }
    });
  }

  const Lines lines_;
  const Epilogue epilogue_;
  const OutputType output_;
  const int64_t taps_;  // of a line, with the zeros at its end
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
