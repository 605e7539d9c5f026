// The stages of an epilogue (ops/epilogue.h), as loops. One definition, for training, for simulated
// inference and for lowered programs.

#ifndef FIXPOINT_RUNTIME_KERNELS_EPILOGUE_H_
#define FIXPOINT_RUNTIME_KERNELS_EPILOGUE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "ops/epilogue.h"

namespace fixpoint::kernels {

using fixpoint::Epilogue;
using fixpoint::EpilogueStage;

// What results are stored as: floats, or codes.
enum class OutputType { kFloat, kUint8, kInt8 };

// Where results go.
class Output {
 public:
  // Implicit, because a span is such a place.
  Output(absl::Span<float> numbers)  // NOLINT(runtime/explicit)
      : type_(OutputType::kFloat), data_(numbers.data()), size_(numbers.size()) {}
  Output(absl::Span<uint8_t> codes)  // NOLINT(runtime/explicit)
      : type_(OutputType::kUint8), data_(codes.data()), size_(codes.size()) {}
  Output(absl::Span<int8_t> codes)  // NOLINT(runtime/explicit)
      : type_(OutputType::kInt8), data_(codes.data()), size_(codes.size()) {}

  OutputType type() const { return type_; }
  void* data() const { return data_; }
  size_t size() const { return size_; }  // elements

  // REQUIRES: its type, or, of codes, either.
  template <typename T>
  absl::Span<T> As() const {
    return {static_cast<T*>(data_), size_};
  }
  // `size` elements from `at` on.
  Output Part(size_t at, size_t size) const;

 private:
  OutputType type_;
  void* data_;
  size_t size_;
};

// The operand of each stage: one element per channel or per element of the output; empty where the
// stage has none. The codes that a stage adds are in the output's memory, each where its result
// goes, so that the output of an epilogue with such a stage is codes. To results that are stored as
// floats, AddCodes adds them.
using EpilogueOperands = absl::Span<const absl::Span<const float>>;

// Applies the stages to elements whose channels lie last. REQUIRES: as many operands as stages, of
// their sizes; no stage adds codes.
void Apply(const Epilogue& epilogue, EpilogueOperands operands, absl::Span<float> elements);

// Computes a stage that adds codes: out = fma(code - zero_point, step, x), rounded once. x may be
// out. REQUIRES: equal sizes; the zero point is a code.
void AddCodes(absl::Span<const float> x, absl::Span<const uint8_t> codes, float step,
              float zero_point, absl::Span<float> out);
void AddCodes(absl::Span<const float> x, absl::Span<const int8_t> codes, float step,
              float zero_point, absl::Span<float> out);

// Applies the stages likewise, and stores the elements, which it changes: codes are rounded half to
// even, between the smallest and the largest that the type has; a NaN becomes the smallest.
void Store(const Epilogue& epilogue, EpilogueOperands operands, absl::Span<float> elements,
           Output out);

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_EPILOGUE_H_
