#include "runtime/executor/ops/placed_elements.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/executor/ops/element_types.h"
#include "runtime/executor/ops/in_memory.h"
#include "runtime/executor/ops/number_as_element.h"
#include "runtime/kernels/lines.h"

namespace fixpoint::executor {
namespace {

using kernels::AxisTaps;
using kernels::kNoPlace;
using kernels::PlacedCopy;
using kernels::Places;

Dims DimsOf(const Dims& x, const std::vector<Places>& places) {
  Dims dims = x;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!places[i].empty()) dims[i] = static_cast<int64_t>(places[i].size());
  }
  return dims;
}

std::vector<Places> InMemory(const std::vector<Places>& places, Layout layout) {
  std::vector<Places> in_memory(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    in_memory[AxisInMemory(static_cast<int>(i), layout)] = places[i];
  }
  return in_memory;
}

// Where each of `size` elements was copied to; nothing if one was copied twice.
std::optional<Places> Inverse(const Places& places, int64_t size) {
  Places inverse(size, kNoPlace);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == kNoPlace) continue;
    int32_t& to = inverse[places[i]];
    if (to != kNoPlace) return std::nullopt;
    to = static_cast<int32_t>(i);
  }
  return inverse;
}

absl::Status AddCopyStep(OpPlanner& op, VarType::Type dtype,
                         const std::shared_ptr<PlacedCopy>& copy, double filling, Buffer from,
                         Buffer to) {
  return WithElementType(dtype, [&](auto element) {
    const auto filled = ElementOf<decltype(element)>(filling);
    return WithElementOfSizeOf(dtype, [&](auto bits) {
      using T = decltype(bits);
      T filling_bits = 0;
      static_assert(sizeof(T) <= sizeof(int64_t));
      std::memcpy(&filling_bits, &filled, std::min(sizeof(T), sizeof(filled)));
      op.AddStep({{from}, {to}, [=](const StepContext& run) {
                    copy->Run<T>(run.Of<T>(from), filling_bits, run.Of<T>(to));
                    return absl::OkStatus();
                  }});
      return absl::OkStatus();
    });
  });
}

// The sums that undo copies to those places.
AxisTaps SumsOfCopies(const Places& places, int64_t size) {
  AxisTaps taps;
  for (const int32_t place : places) {
    if (place != kNoPlace) {
      taps.places.push_back(place);
      taps.weights.push_back(1);
    }
    taps.End();
  }
  return kernels::Transposed(taps, size);
}

}  // namespace

absl::Status CheckPlanned(int64_t size) {
  constexpr int64_t kMost = int64_t{1} << 24;
  if (size <= kMost) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("an axis has ", size, " elements; want at most ", kMost));
}

absl::Status AddPlacedCopy(OpPlanner& op, absl::string_view input, absl::string_view output,
                           const std::vector<Places>& places, double filling,
                           const Dims& out_dims) {
  const TensorType type = op.InputType(input);
  const Dims dims = DimsOf(type.dims, places);
  const Layout layout = out_dims.empty() ? op.InputLayout(input) : Layout::kRowMajor;
  ASSIGN_OR_RETURN(const std::shared_ptr<PlacedCopy> copy,
                   PlacedCopy::Plan(DimsInMemory(type.dims, layout), InMemory(places, layout)));
  ASSIGN_OR_RETURN(const Buffer from, op.Read(input, type.dtype, layout));
  const Buffer to = op.WriteAs(output, {type.dtype, out_dims.empty() ? dims : out_dims}, layout);
  return AddCopyStep(op, type.dtype, copy, filling, from, to);
}

absl::Status AddPlacedGradient(OpPlanner& op, absl::string_view dout, absl::string_view dx,
                               const TensorType& x, const std::vector<Places>& places) {
  const Dims dims = DimsOf(x.dims, places);
  RETURN_IF_ERROR(op.CheckSize(dout, TensorType{x.dtype, dims}.size()));
  const bool has_rank = op.InputDims(dout).size() == dims.size();
  const Layout layout = has_rank ? op.InputLayout(dout) : Layout::kRowMajor;
  const Dims from_dims = DimsInMemory(dims, layout);
  const Dims to_dims = DimsInMemory(x.dims, layout);
  const std::vector<Places> in_memory = InMemory(places, layout);
  std::vector<Places> inverses(places.size());
  std::vector<AxisSums> sums;
  bool is_copy = true;
  for (size_t i = 0; i < places.size(); ++i) {
    if (in_memory[i].empty()) continue;
    sums.push_back({static_cast<int>(i), SumsOfCopies(in_memory[i], to_dims[i])});
    std::optional<Places> inverse = Inverse(in_memory[i], to_dims[i]);
    is_copy = is_copy && inverse;
    if (inverse) inverses[i] = *std::move(inverse);
  }
  ASSIGN_OR_RETURN(const Buffer from, op.ReadFloats(dout, layout));
  const Buffer to = op.WriteAs(dx, x, layout);
  if (is_copy) {
    ASSIGN_OR_RETURN(const std::shared_ptr<PlacedCopy> copy, PlacedCopy::Plan(from_dims, inverses));
    return AddCopyStep(op, VarType::FP32, copy, 0, from, to);
  }
  AddAxisSums(op, from, from_dims, sums, to);
  return absl::OkStatus();
}

void AddAxisSums(OpPlanner& op, Buffer from, Dims dims, const std::vector<AxisSums>& sums,
                 Buffer to) {
  struct Pass {
    AxisTaps taps;
    kernels::Lines lines;
    Buffer from;
    Buffer to;
  };
  auto passes = std::make_shared<std::vector<Pass>>();
  std::vector<Buffer> writes = {to};
  for (size_t i = 0; i < sums.size(); ++i) {
    const int axis = sums[i].axis;
    kernels::Lines lines;
    for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
      (d < axis ? lines.outer : d == axis ? lines.length : lines.inner) *= dims[d];
    }
    dims[axis] = sums[i].taps.size();
    Buffer next = to;
    if (i + 1 < sums.size()) {
      next = op.Scratch("sums", VarType::FP32, TensorType{VarType::FP32, dims}.size());
      writes.push_back(next);
    }
    passes->push_back({sums[i].taps, lines, passes->empty() ? from : passes->back().to, next});
  }
  op.AddStep({{from}, std::move(writes), [=](const StepContext& run) {
                for (const Pass& pass : *passes) {
                  kernels::SumTaps(pass.taps, pass.lines, run.Floats(pass.from),
                                   run.Floats(pass.to));
                }
                if (passes->empty()) {
                  const absl::Span<float> copied = run.Floats(from);
                  std::copy(copied.begin(), copied.end(), run.Floats(to).begin());
                }
                return absl::OkStatus();
              }});
}

}  // namespace fixpoint::executor
