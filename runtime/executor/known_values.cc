#include "runtime/executor/known_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "runtime/executor/ops/element_types.h"

namespace fixpoint::executor {
namespace {

// Whether the type holds a number, which is not rounded.
template <typename T>
bool Holds(double number) {
  if constexpr (std::is_integral_v<T>) {
    constexpr double kExact = 9007199254740992;  // 2^53
    return std::abs(number) < kExact &&
           number >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
           number <= static_cast<double>(std::numeric_limits<T>::max());
  } else {
    return true;
  }
}

// Shapes, axes and the ends of a range have fewer elements.
constexpr int64_t kMostElements = 64;

bool MayBeKnown(const BufferInfo& buffer) {
  return buffer.place == BufferInfo::Place::kArena && buffer.type.size() <= kMostElements;
}

}  // namespace

void KnownValues::Note(const Step& step, absl::Span<const BufferInfo> buffers) {
  const bool is_known = step.block == nullptr && !step.in_each_run &&
                        std::all_of(step.reads.begin(), step.reads.end(),
                                    [&](Buffer read) { return elements_.contains(read.index); }) &&
                        std::all_of(step.writes.begin(), step.writes.end(), [&](Buffer written) {
                          return MayBeKnown(buffers[written.index]);
                        });
  if (is_known) {
    addresses_.resize(buffers.size());
    for (const Buffer written : step.writes) {
      absl::StatusOr<Memory> memory =
          AllocateMemory(buffers[written.index].bytes(), "known values");
      if (!memory.ok()) return;
      elements_[written.index] = *std::move(memory);
    }
    for (const auto* touched : {&step.reads, &step.writes}) {
      for (const Buffer buffer : *touched) {
        addresses_[buffer.index] = elements_.at(buffer.index).get();
      }
    }
  }
  if (is_known && step.run(StepContext(absl::MakeSpan(addresses_), RunState())).ok()) return;
  for (const Buffer written : step.writes) elements_.erase(written.index);
}

void KnownValues::Set(Buffer buffer, absl::Span<const double> numbers,
                      absl::Span<const BufferInfo> buffers) {
  const BufferInfo& info = buffers[buffer.index];
  Forget(buffer);
  if (info.type.size() != static_cast<int64_t>(numbers.size())) return;
  absl::StatusOr<Memory> memory = AllocateMemory(info.bytes(), "known values");
  if (!memory.ok()) return;
  bool are_held = true;
  const absl::Status status = WithElementType(info.type.dtype, [&](auto element) {
    using T = decltype(element);
    are_held = std::all_of(numbers.begin(), numbers.end(), Holds<T>);
    if (!are_held) return absl::OkStatus();
    std::transform(numbers.begin(), numbers.end(), reinterpret_cast<T*>(memory->get()),
                   [](double number) { return static_cast<T>(number); });
    return absl::OkStatus();
  });
  if (status.ok() && are_held) elements_[buffer.index] = *std::move(memory);
}

std::optional<std::vector<double>> KnownValues::Find(Buffer buffer,
                                                     absl::Span<const BufferInfo> buffers) const {
  const auto known = elements_.find(buffer.index);
  if (known == elements_.end()) return std::nullopt;
  std::vector<double> numbers;
  const absl::Status status = WithElementType(buffers[buffer.index].type.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const begin = reinterpret_cast<const T*>(known->second.get());
    numbers.assign(begin, begin + buffer.size);
    return absl::OkStatus();
  });
  if (!status.ok()) return std::nullopt;
  return numbers;
}

}  // namespace fixpoint::executor
