#include "runtime/kernels/integer_transposed_convolution.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/integer_convolution.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/strided_copy.h"
#include "runtime/kernels/sum_begin.h"
#include "runtime/kernels/sums_problem.h"
#include "runtime/kernels/transposed_phases.h"

// oneDNN's kernels for transposed convolutions of codes are not allowed
// (onednn_implementations.cc), so they are composed of ordinary ones.

namespace fixpoint::kernels {
namespace {

int64_t KernelSize(const ConvolutionShape& shape) {
  return shape.window[0].kernel * shape.window[1].kernel;
}

// The most products that are summed for one element.
int64_t Products(const ConvolutionShape& shape) {
  return shape.filters / shape.groups * KernelSize(shape);
}

// A phase of rows and a phase of columns, which one convolution computes.
struct Phase {
  TransposedPhase rows;
  TransposedPhase columns;

  ConvolutionShape ShapeIn(const ConvolutionShape& transposed) const {
    ConvolutionShape shape;
    shape.batch = transposed.batch;
    shape.channels = transposed.filters;
    shape.height = rows.inputs;
    shape.width = columns.inputs;
    shape.filters = transposed.channels;
    shape.groups = transposed.groups;
    shape.window = {rows.window, columns.window};
    shape.out_height = rows.count;
    shape.out_width = columns.count;
    return shape;
  }
  bool HasShapeOf(const Phase& other) const {
    return rows.HasShapeOf(other.rows) && columns.HasShapeOf(other.columns);
  }
};

// A phase with its kernel, which writes to memory where the phase's elements are adjacent. Phases
// of one shape share their kernel.
struct PhaseKernel {
  Phase phase;
  std::shared_ptr<IntegerSums> sums;
  // Copies the inputs that the kernel reads. Null: it reads all of them.
  std::shared_ptr<StridedCopy> take;
  // Copy elements of the output to the phase, and back. Null: they are the same.
  std::shared_ptr<StridedCopy> gather;
  std::shared_ptr<StridedCopy> scatter;
};

absl::Status PlanCopies(const ConvolutionShape& shape, PhaseKernel* kernel) {
  const auto& [rows, columns] = kernel->phase;
  const Dims inputs = {shape.batch, shape.out_height, shape.out_width, shape.filters};
  const Dims taken = {shape.batch, rows.inputs, columns.inputs, shape.filters};
  if (taken != inputs) {
    const Dims starts = {0, rows.first_input, columns.first_input, 0};
    ASSIGN_OR_RETURN(kernel->take,
                     StridedCopy::Plan(taken, SlicedLayout(inputs, starts, {1, 1, 1, 1}),
                                       RowMajorLayout(taken)));
  }
  const Dims outputs = {shape.batch, shape.height, shape.width, shape.channels};
  const Dims of_phase = {shape.batch, rows.count, columns.count, shape.channels};
  if (of_phase == outputs) return absl::OkStatus();
  const StridedLayout apart = SlicedLayout(outputs, {0, rows.first, columns.first, 0},
                                           {1, shape.window[0].stride, shape.window[1].stride, 1});
  ASSIGN_OR_RETURN(kernel->gather, StridedCopy::Plan(of_phase, apart, RowMajorLayout(of_phase)));
  ASSIGN_OR_RETURN(kernel->scatter, StridedCopy::Plan(of_phase, RowMajorLayout(of_phase), apart));
  return absl::OkStatus();
}

// What is done with sums.
struct EndOfSums {
  Epilogue epilogue;
  OutputType output;
};

class InPhases final : public IntegerSums {
 public:
  // `of_kernels` is what the phases' kernels are planned with: the same as here or, where some
  // elements belong to no phase, plain floats. Such elements are a bias, or 0, before the epilogue.
  InPhases(const ConvolutionShape& shape, const SumCoding& coding, std::vector<PhaseKernel> kernels,
           const EndOfSums& of_kernels, const EndOfSums& end)
      : shape_(shape),
        coding_(coding),
        end_(end),
        epilogue_(of_kernels.epilogue),
        output_(of_kernels.output),
        kernels_(std::move(kernels)),
        gathered_(epilogue_.size()) {
    const auto grow = [](int64_t size, auto* memory) {
      if (size > static_cast<int64_t>(memory->size())) memory->resize(size);
    };
    double slowest = std::numeric_limits<double>::infinity();
    for (const PhaseKernel& kernel : kernels_) {
      const ConvolutionShape of_phase = kernel.phase.ShapeIn(shape_);
      packed_bytes_ += kernel.sums->packed_bytes();
      slowest = std::min(slowest, kernel.sums->beside_floats());
      covered_ += of_phase.output_size();
      grow(of_phase.filter_size(), &filters_);
      if (kernel.take != nullptr) grow(of_phase.input_size(), &inputs_);
      if (kernel.scatter == nullptr) continue;
      if (output_ == OutputType::kFloat) {
        grow(of_phase.output_size(), &numbers_);
      } else {
        grow(of_phase.output_size(), &codes_);
      }
      for (size_t i = 0; i < epilogue_.size(); ++i) {
        if (IsOfElements(epilogue_[i])) grow(of_phase.output_size(), &gathered_[i]);
      }
    }
    if (!kernels_.empty()) set_beside_floats(slowest);
    CHECK(IsCovered() || epilogue_.empty());
    if (output_ != end_.output || epilogue_.size() != end_.epilogue.size()) {
      elements_.resize(shape_.input_size());
    }
  }

  int64_t packed_bytes() const override { return packed_bytes_; }

  void Pack(absl::Span<const int8_t> codes, absl::Span<uint8_t> packed) override {
    CHECK_EQ(static_cast<int64_t>(codes.size()), shape_.filter_size());
    CHECK_EQ(static_cast<int64_t>(packed.size()), packed_bytes_);
    for (const PhaseKernel& kernel : kernels_) {
      const absl::Span<int8_t> filters =
          absl::MakeSpan(filters_).first(kernel.phase.ShapeIn(shape_).filter_size());
      TakeFilters(kernel.phase, codes, filters);
      kernel.sums->Pack(filters, packed.first(kernel.sums->packed_bytes()));
      packed.remove_prefix(kernel.sums->packed_bytes());
    }
  }

  void Run(const SumOperands& operands, Output out) override {
    CheckRun(operands, out, coding_,
             {shape_.output_size(), packed_bytes_, shape_.channels, shape_.input_size()},
             end_.epilogue, end_.output);
    if (elements_.empty()) return RunPhases(operands, out);
    SumOperands of_phases = operands;
    of_phases.epilogue = {};
    RunPhases(of_phases, absl::MakeSpan(elements_));
    Store(end_.epilogue, operands.epilogue, absl::MakeSpan(elements_), out);
  }

  std::string implementation() const override {
    return kernels_.empty() ? "loops" : kernels_.front().sums->implementation();
  }

 private:
  bool IsCovered() const { return covered_ == shape_.input_size(); }
  static bool IsOfElements(const EpilogueStage& stage) {
    return stage.kind == EpilogueStage::Kind::kAddElement;
  }

  // The weights of a phase's convolution, [channels, filters of a group, taps].
  void TakeFilters(const Phase& phase, absl::Span<const int8_t> codes,
                   absl::Span<int8_t> filters) const {
    const int64_t channels = shape_.channels / shape_.groups;
    const int64_t inputs = shape_.filters / shape_.groups;
    const int64_t kernel = KernelSize(shape_);
    int8_t* to = filters.data();
    for (int64_t c = 0; c < shape_.channels; ++c) {
      const int64_t first_input = c / channels * inputs;
      for (int64_t f = first_input; f < first_input + inputs; ++f) {
        const int8_t* const filter = &codes[(f * channels + c % channels) * kernel];
        for (const int64_t i : phase.rows.taps) {
          for (const int64_t j : phase.columns.taps)
            *to++ = filter[i * shape_.window[1].kernel + j];
        }
      }
    }
  }

  void RunPhases(const SumOperands& operands, Output out) {
    if (!IsCovered()) FillWithoutProducts(operands, out.As<float>());
    absl::Span<const uint8_t> packed = operands.weights;
    for (const PhaseKernel& kernel : kernels_) {
      SumOperands of_phase = operands;
      if (kernel.take != nullptr) {
        const absl::Span<uint8_t> copy =
            absl::MakeSpan(inputs_).first(kernel.phase.ShapeIn(shape_).input_size());
        kernel.take->Run<uint8_t>(operands.inputs, copy);
        of_phase.inputs = copy;
      }
      of_phase.weights = packed.first(kernel.sums->packed_bytes());
      packed.remove_prefix(of_phase.weights.size());
      if (kernel.scatter == nullptr) {
        kernel.sums->Run(of_phase, out);
      } else if (output_ == OutputType::kFloat) {
        RunApart<float>(kernel, of_phase, out, absl::MakeSpan(numbers_));
      } else {
        RunApart<uint8_t>(kernel, of_phase, out, absl::MakeSpan(codes_));
      }
    }
  }

  // A bias becomes a float like any other element: a sum times its scale.
  static void FillWithoutProducts(const SumOperands& operands, absl::Span<float> out) {
    const absl::Span<const float> scales = operands.scales;
    for (size_t at = 0; at < out.size(); at += scales.size()) {
      for (size_t c = 0; c < scales.size(); ++c) {
        const float sum = operands.bias.empty() ? 0.0f : static_cast<float>(operands.bias[c]);
        out[at + c] = sum * scales[c];
      }
    }
  }

  template <typename T>
  void RunApart(const PhaseKernel& kernel, SumOperands operands, Output out, absl::Span<T> memory) {
    const absl::Span<T> elements = memory.first(kernel.phase.ShapeIn(shape_).output_size());
    operands_.assign(operands.epilogue.begin(), operands.epilogue.end());
    for (size_t i = 0; i < epilogue_.size(); ++i) {
      if (IsOfElements(epilogue_[i])) {
        const absl::Span<float> gathered = absl::MakeSpan(gathered_[i]).first(elements.size());
        kernel.gather->Run<float>(operands.epilogue[i], gathered);
        operands_[i] = gathered;
      } else if (epilogue_[i].is_of_codes()) {
        kernel.gather->Run<T>(out.As<T>(), elements);
      }
    }
    operands.epilogue = operands_;
    kernel.sums->Run(operands, OutputOf(elements));
    kernel.scatter->Run<T>(elements, out.As<T>());
  }

  Output OutputOf(absl::Span<float> numbers) const { return numbers; }
  Output OutputOf(absl::Span<uint8_t> codes) const {
    if (output_ == OutputType::kUint8) return codes;
    return absl::Span<int8_t>(reinterpret_cast<int8_t*>(codes.data()), codes.size());
  }

  const ConvolutionShape shape_;
  const SumCoding coding_;
  const EndOfSums end_;
  const Epilogue epilogue_;  // of phases, and the following
  const OutputType output_;
  const std::vector<PhaseKernel> kernels_;
  int64_t packed_bytes_ = 0;
  int64_t covered_ = 0;  // elements of the output that are in phases
  // Buffers of the size of the largest phase.
  std::vector<int8_t> filters_;
  std::vector<uint8_t> inputs_;
  std::vector<float> numbers_;
  std::vector<uint8_t> codes_;
  std::vector<std::vector<float>> gathered_;  // operands
  std::vector<absl::Span<const float>> operands_;
  std::vector<float> elements_;  // empty: phases write to the output
};

std::vector<Phase> PhasesOf(const ConvolutionShape& shape) {
  std::vector<Phase> phases;
  for (const TransposedPhase& rows :
       TransposedPhases(shape.window[0], shape.out_height, shape.height)) {
    for (const TransposedPhase& columns :
         TransposedPhases(shape.window[1], shape.out_width, shape.width)) {
      phases.push_back({rows, columns});
    }
  }
  return phases;
}

absl::StatusOr<std::vector<PhaseKernel>> PlanPhases(const ConvolutionShape& shape,
                                                    const SumCoding& coding,
                                                    const std::vector<Phase>& phases,
                                                    const EndOfSums& end) {
  std::vector<PhaseKernel> kernels;
  std::vector<size_t> shapes;  // the first kernel of each; a large filter has many phases of few
  for (const Phase& phase : phases) {
    PhaseKernel kernel{phase, nullptr, nullptr, nullptr, nullptr};
    RETURN_IF_ERROR(PlanCopies(shape, &kernel));
    const auto same = std::find_if(shapes.begin(), shapes.end(), [&](size_t first) {
      return kernels[first].phase.HasShapeOf(phase);
    });
    if (same != shapes.end()) {
      kernel.sums = kernels[*same].sums;
    } else {
      ASSIGN_OR_RETURN(kernel.sums, PlanIntegerConvolution(phase.ShapeIn(shape), coding,
                                                           end.epilogue, end.output));
      shapes.push_back(kernels.size());
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanIntegerTransposedConvolution(
    ConvolutionShape shape, const SumCoding& coding, const Epilogue& epilogue, OutputType output) {
  RETURN_IF_ERROR(CompleteShape(&shape));
  RETURN_IF_ERROR(CheckSums("a transposed convolution", Products(shape), coding));
  const std::vector<Phase> phases = PhasesOf(shape);
  int64_t covered = 0;
  for (const Phase& phase : phases) covered += phase.ShapeIn(shape).output_size();
  const EndOfSums end = {epilogue, output};
  const EndOfSums of_kernels =
      covered == shape.input_size() ? end : EndOfSums{{}, OutputType::kFloat};
  ASSIGN_OR_RETURN(std::vector<PhaseKernel> kernels, PlanPhases(shape, coding, phases, of_kernels));
  return Planned("a transposed convolution of codes", [&]() -> std::unique_ptr<IntegerSums> {
    return std::make_unique<InPhases>(shape, coding, std::move(kernels), of_kernels, end);
  });
}

}  // namespace fixpoint::kernels
