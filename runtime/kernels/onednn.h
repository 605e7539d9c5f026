// What the kernels share for using oneDNN.

#ifndef FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_
#define FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_

#include <glog/logging.h>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/dims.h"
#include "runtime/kernels/threads.h"

namespace fixpoint::kernels {

const dnnl::engine& Engine();

// A desc with the dims that the program declares, [batch, channels, height, width], and channels
// last in memory.
dnnl::memory::desc ChannelsLast(DimsView dims, dnnl::memory::data_type type);
// Row major.
dnnl::memory::desc RowMajor(DimsView dims, dnnl::memory::data_type type);
// A layout that the primitive chooses.
dnnl::memory::desc AnyLayout(DimsView dims, dnnl::memory::data_type type);

// What all primitives are created with: an Execution gives them the memory that they work in.
// oneDNN's own belongs to the thread that creates a primitive, whichever thread runs it.
dnnl::primitive_attr Attributes();

// Memory with a layout: its own, or memory that each run gives.
class Operand {
 public:
  static Operand Own(const dnnl::memory::desc& desc) { return Operand(desc, DNNL_MEMORY_ALLOCATE); }
  static Operand Elsewhere(const dnnl::memory::desc& desc) { return Operand(desc, nullptr); }

  const dnnl::memory& memory() const { return memory_; }

  // Sets where it is. REQUIRES: it has the layout's size.
  template <typename T>
  void PointTo(absl::Span<T> data) {
    CHECK_EQ(bytes_, data.size() * sizeof(T));
    // oneDNN takes memory that it only reads as writable too.
    memory_.set_data_handle(const_cast<std::remove_const_t<T>*>(data.data()));
  }

  // The same of a part of larger memory, which begins there.
  template <typename T>
  void PointToPart(T* begin) {
    memory_.set_data_handle(const_cast<std::remove_const_t<T>*>(begin));
  }

  int64_t bytes() const { return static_cast<int64_t>(bytes_); }
  // As many elements as it has.
  template <typename T>
  size_t size() const {
    return bytes_ / sizeof(T);
  }
  template <typename T>
  T* data() const {
    return static_cast<T*>(memory_.get_data_handle());
  }

 private:
  Operand(const dnnl::memory::desc& desc, void* data)
      : memory_(desc, Engine(), data), bytes_(desc.get_size()) {}

  dnnl::memory memory_;
  size_t bytes_;
};

// A primitive, created when it is planned or later (deferred_primitives.h).
class Primitive {
 public:
  static std::shared_ptr<Primitive> Plan(const dnnl::primitive_desc_base& desc);
  // Created at once. Throws dnnl::error.
  static std::shared_ptr<const Primitive> Create(const dnnl::primitive_desc_base& desc);

  // Throws dnnl::error.
  void Make();
  // The memory that a run works in.
  const dnnl::memory::desc& scratchpad() const { return scratchpad_; }
  bool is_made() const { return static_cast<bool>(made_); }
  // REQUIRES: it is created.
  dnnl_primitive_t get() const { return made_.get(); }

 private:
  explicit Primitive(const dnnl::primitive_desc_base& desc)
      : threads_(GrantedThreads()), desc_(desc), scratchpad_(desc.scratchpad_desc()) {}

  const int threads_;  // when it was planned: oneDNN looks for one that was made for as many
  dnnl::primitive_desc_base desc_;  // until it is created
  const dnnl::memory::desc scratchpad_;
  dnnl::primitive made_;
};

// A primitive with its arguments, by DNNL_ARG_...; a run looks nothing up, and allocates nothing
// but a scratchpad where no run of the thread had one as large. REQUIRES: it is made with
// Attributes().
class Execution {
 public:
  struct Argument {
    int name;
    const Operand& operand;
  };
  Execution(const dnnl::primitive_desc_base& desc, absl::Span<const Argument> arguments);
  // Of a primitive that others run too. REQUIRES: it is created.
  Execution(std::shared_ptr<const Primitive> shared, absl::Span<const Argument> arguments);

  // Runs it, and waits for it. Throws KernelError if oneDNN refuses it now, or std::bad_alloc if
  // there is no memory.
  void Run();

 private:
  void Take(absl::Span<const Argument> arguments);

  std::shared_ptr<Primitive> planned_;  // null: it is shared
  std::shared_ptr<const Primitive> primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::optional<Operand> scratchpad_;  // nothing: it needs none
};
// A copy from one layout to another.
Execution Reordering(const Operand& from, const Operand& to);

absl::Status CannotPlan(absl::string_view what, const dnnl::error& error);
absl::Status NoMemoryFor(absl::string_view what);

// The result of `plan`. Errors: kUnimplemented: oneDNN has no kernel for it; kFailedPrecondition:
// no memory.
template <typename Plan>
auto Planned(absl::string_view what, Plan plan) -> absl::StatusOr<decltype(plan())> {
  try {
    return plan();
  } catch (const dnnl::error& error) {
    return CannotPlan(what, error);
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(what);
  } catch (const std::length_error&) {
    return NoMemoryFor(what);
  }
}

}  // namespace fixpoint::kernels

#endif  // FIXPOINT_RUNTIME_KERNELS_ONEDNN_H_
