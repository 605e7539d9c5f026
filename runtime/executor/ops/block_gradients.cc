// Ops that run a gradient block: once for each run of the forward block that its op kept, the last
// one first. Gradients that a run makes are carried to the next one, or added up.

#include "ops/block_gradients.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/unset_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/planned_block.h"
#include "runtime/executor/ops/run_keeping.h"
#include "runtime/executor/unset_values.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

// A value of the gradient block with what was kept of it.
struct Restored {
  KeptValue kept;
  Buffer elements;
  std::optional<Buffer> dims, is_set;
  std::vector<Buffer> offsets;  // of each level
};

// An outer gradient that the block reads.
struct Given {
  std::optional<TensorType> type;  // nothing: it is not known
  std::optional<Buffer> outer;     // nothing: zeros
  std::optional<Buffer> is_set;    // nothing: always, if there is a buffer
  Buffer elements;                 // what a run begins with, in the plan around
  std::optional<Buffer> inner;     // in the block's plan
  std::optional<HeldArray> array;
  bool is_new = false;        // an array that begins empty
  int64_t steps = 0;          // 0: what each run begins with; else it has a step for each
  std::optional<Buffer> sum;  // with what was given before of the same inner gradient
};

// An outer gradient that the block makes.
struct Made {
  int carried = -1;
  TensorType type;
  Buffer outer;
  std::optional<Buffer> inner;  // where a run ends; nothing: the block does not make it
  std::optional<HeldArray> array;
  std::shared_ptr<TensorArray> inner_array;
  int64_t steps = 0;  // 0: what all runs make; else a run makes a step
};

void AddTo(absl::Span<const float> part, absl::Span<float> sum) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

class BlockGradientPlan {
 public:
  BlockGradientPlan(OpPlanner& op, const Block& block, BlockGradients gradients)
      : op_(op), builder_(op.builder()), block_(block), gradients_(std::move(gradients)) {}

  absl::Status Plan() {
    using Held = std::shared_ptr<const HeldRuns>;
    const Value& runs = *gradients_.kept_runs->value();
    if (const Held* held = builder_.Attached<Held>(runs); held != nullptr) held_ = *held;
    if (held_ == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", runs.variable().name(),
                       "\" has no runs of the forward block; want what its op keeps"));
    }
    ASSIGN_OR_RETURN(const Buffer kept_runs, builder_.Read(runs, Layout::kRowMajor));
    RETURN_IF_ERROR(GiveOuterValues(op_, block_, {}, &in_planning_));
    for (const ReadOfRun& read : in_planning_.crossing.of_runs) RETURN_IF_ERROR(Restore(read));
    for (const BlockGradients::Given& given : gradients_.given) RETURN_IF_ERROR(Give(given));
    for (const BlockGradients::Made& made : gradients_.made) {
      const Value* const end = EndOf(made);
      if (end == nullptr) continue;
      in_planning_.builder.Attach(*end, ReadAtEnd{});
      in_planning_.wanted.push_back(end);
    }
    RETURN_IF_ERROR(PlanBlock(op_, block_, &in_planning_));
    for (const BlockGradients::Made& made : gradients_.made) RETURN_IF_ERROR(Make(made));
    AddStep(kept_runs);
    return absl::OkStatus();
  }

 private:
  const Value* EndOf(const BlockGradients::Made& made) const {
    return made.inner != nullptr ? ValueAtEnd(op_.op(), *made.inner) : nullptr;
  }

  absl::Status Restore(const ReadOfRun& read) {
    const auto kept =
        std::find_if(held_->values.begin(), held_->values.end(), [&read](const KeptValue& value) {
          return value.value == read.kept && value.at_begin == read.at_begin;
        });
    if (kept == held_->values.end()) return NoValue(*read.kept);
    PlanBuilder& inner = in_planning_.builder;
    Restored restored{*kept, {}, std::nullopt, std::nullopt, {}};
    inner.AddFeed(*read.read, read.read->variable().name(), kept->type);
    ASSIGN_OR_RETURN(restored.elements, inner.Read(*read.read, Layout::kRowMajor));
    if (kept->array) inner.Attach(*read.read, HeldArray(*kept->array));
    if (kept->inner != nullptr) inner.Attach(*read.read, kept->inner);
    const auto add = [&](const KeptValue::Part& part, VarType::Type dtype) {
      return inner.AddGivenBuffer(
          {read.read->variable().name(), TensorType{dtype, {part.buffer.size}}});
    };
    if (kept->dims) {
      restored.dims = add(*kept->dims, VarType::INT64);
      for (const KeptValue::Part& level : kept->offsets) {
        restored.offsets.push_back(add(level, VarType::INT64));
      }
      RunShape shape;
      shape.dims = *restored.dims;
      shape.offsets = restored.offsets;
      shape.op = kept->decides;
      shape.only_rows = kept->only_rows;
      inner.SetRunShape(*read.read, shape);
    }
    if (kept->is_set) {
      restored.is_set = add(*kept->is_set, VarType::BOOL);
      inner.Attach(*read.read, IsSet{*restored.is_set});
    }
    restored_.push_back(std::move(restored));
    return absl::OkStatus();
  }

  // The array that a variable's gradient is, if the variable is an array.
  std::optional<HeldArray> NewArrayLike(const Argument* of) const {
    if (of == nullptr || of->value() == nullptr) return std::nullopt;
    const auto* const array = builder_.Attached<HeldArray>(*of->value());
    if (array == nullptr) return std::nullopt;
    HeldArray made = *array;
    made.array = std::make_shared<TensorArray>();
    made.most_offsets.clear();
    made.contents = {};
    return made;
  }

  absl::Status Give(const BlockGradients::Given& gradient) {
    Given given;
    const Value* const outer = gradient.outer != nullptr ? gradient.outer->value() : nullptr;
    GivenType type;
    if (outer != nullptr && builder_.IsPlanned(*outer)) {
      type = {builder_.TypeOf(*outer), builder_.LodOf(*outer)};
      ASSIGN_OR_RETURN(given.outer, builder_.Read(*outer, Layout::kRowMajor));
      if (const auto* is_set = builder_.Attached<IsSet>(*outer)) given.is_set = is_set->flag;
      if (const auto* array = builder_.Attached<HeldArray>(*outer)) {
        given.array = *array;
        given.array->contents = {};
      }
      if (builder_.RunShapeOf(*outer) != nullptr) {
        return absl::UnimplementedError(absl::StrCat("\"", outer->variable().name(),
                                                     "\" has extents that a run decides; want ones "
                                                     "that are known before, or "
                                                     "--backend=reference"));
      }
    } else if (std::optional<HeldArray> array = NewArrayLike(gradient.of); array) {
      given.array = std::move(array);
      given.is_new = true;
      type = {NoElements(), {}};
    } else if (gradient.of != nullptr && builder_.IsPlanned(*gradient.of->value())) {
      type = {builder_.TypeOf(*gradient.of->value()), builder_.LodOf(*gradient.of->value())};
    } else {
      given_.push_back(std::move(given));
      return absl::OkStatus();
    }
    if (gradient.is_by_step) {
      ASSIGN_OR_RETURN(given.steps, CutIntoSteps(&type));
    }
    given.elements = op_.Scratch("gradient", type.type.dtype, type.type.size());
    given.type = type.type;
    const Value* const begin =
        gradient.inner != nullptr ? ValueAtBegin(op_.op(), *gradient.inner) : nullptr;
    const auto same =
        std::find_if(given_.begin(), given_.end(), [this, &gradient](const Given& before) {
          return before.inner && gradients_.given[&before - given_.data()].inner == gradient.inner;
        });
    if (begin != nullptr && same != given_.end()) {
      if (same->type != type.type) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", gradient.inner->name(), "\" is the gradient of variables of ",
                         DimsText(same->type->dims), " and ", DimsText(type.type.dims),
                         "; want the same extents"));
      }
      given.inner = same->inner;
      given.sum = op_.Scratch("sum of gradients", type.type.dtype, type.type.size());
    } else if (begin != nullptr) {
      PlanBuilder& inner = in_planning_.builder;
      inner.AddFeed(*begin, gradient.inner->name(), type);
      ASSIGN_OR_RETURN(given.inner, inner.Read(*begin, Layout::kRowMajor));
      if (given.array) inner.Attach(*begin, HeldArray(*given.array));
    }
    given_.push_back(std::move(given));
    return absl::OkStatus();
  }

  // The type of a step of a sequence. Returns how many there are.
  static absl::StatusOr<int64_t> CutIntoSteps(GivenType* type) {
    Dims& dims = type->type.dims;
    if (dims.empty() || dims[0] < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a sequence or its gradient is ", DimsText(dims), "; want [steps, ...]"));
    }
    const int64_t steps = dims[0];
    dims.erase(dims.begin());
    type->lod.clear();
    return steps;
  }

  absl::Status Make(const BlockGradients::Made& gradient) {
    const Value& of = *gradient.of->value();
    if (!builder_.IsPlanned(of)) return absl::OkStatus();
    Made made;
    made.carried = gradient.carried;
    if (gradient.outer == nullptr) return MakeCarried(gradient);
    if (builder_.Attached<HeldArray>(of) != nullptr) {
      RETURN_IF_ERROR(MakeArray(gradient, &made));
    } else {
      RETURN_IF_ERROR(MakeTensor(gradient, &made));
    }
    made_.push_back(std::move(made));
    return absl::OkStatus();
  }

  absl::Status MakeArray(const BlockGradients::Made& gradient, Made* made) {
    const Value& outer = *gradient.outer->value();
    made->array = made->carried >= 0 ? given_[made->carried].array : NewArrayLike(gradient.of);
    if (!made->array) {
      return absl::InvalidArgumentError(absl::StrCat("\"", outer.variable().name(),
                                                     "\" is a tensor; want an array, as \"",
                                                     gradient.of->name(), "\""));
    }
    const Value* const end = EndOf(gradient);
    if (made->carried < 0 && end != nullptr) {
      if (const auto* array = in_planning_.builder.Attached<HeldArray>(*end)) {
        RETURN_IF_ERROR(made->array->MakeRoomFor(*array));
        made->inner_array = array->array;
      }
    }
    made->outer = builder_.Write(outer, NoElements(), Layout::kRowMajor);
    builder_.Attach(outer, HeldArray(*made->array));
    return absl::OkStatus();
  }

  absl::Status MakeTensor(const BlockGradients::Made& gradient, Made* made) {
    const Value& of = *gradient.of->value();
    const Value& outer = *gradient.outer->value();
    made->type = builder_.TypeOf(of);
    if (builder_.RunShapeOf(of) != nullptr) {
      return absl::UnimplementedError(absl::StrCat("\"", of.variable().name(),
                                                   "\" has extents that a run decides; want ones "
                                                   "that are known before, or "
                                                   "--backend=reference"));
    }
    RETURN_IF_ERROR(CheckIsCarriedAs(made->type, gradient));
    GivenType of_run{made->type, {}};
    if (gradient.is_by_step) {
      ASSIGN_OR_RETURN(made->steps, CutIntoSteps(&of_run));
    }
    const Value* const end = EndOf(gradient);
    PlanBuilder& inner = in_planning_.builder;
    if (end != nullptr) {
      if (inner.TypeOf(*end) != of_run.type || inner.RunShapeOf(*end) != nullptr) {
        return absl::UnimplementedError(
            absl::StrCat("a run makes a gradient ", DimsText(inner.TypeOf(*end).dims), " of \"",
                         of.variable().name(), "\" ", DimsText(of_run.type.dims),
                         "; want the same extents, known before, or --backend=reference"));
      }
      ASSIGN_OR_RETURN(made->inner, inner.Read(*end, Layout::kRowMajor));
    }
    made->outer = builder_.Write(outer, made->type, Layout::kRowMajor);
    builder_.SetLod(outer, builder_.LodOf(of));
    return absl::OkStatus();
  }

  // A gradient that passes from run to run, and that nothing reads in the end.
  absl::Status MakeCarried(const BlockGradients::Made& gradient) {
    const Value* const end = EndOf(gradient);
    if (end == nullptr) return absl::OkStatus();
    PlanBuilder& inner = in_planning_.builder;
    Made made;
    made.carried = gradient.carried;
    made.type = builder_.TypeOf(*gradient.of->value());
    if (inner.TypeOf(*end) != made.type || inner.RunShapeOf(*end) != nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("a run makes a gradient ", DimsText(inner.TypeOf(*end).dims), " of \"",
                       gradient.of->name(), "\" ", DimsText(made.type.dims),
                       "; want the same extents, known before, or --backend=reference"));
    }
    ASSIGN_OR_RETURN(made.inner, inner.Read(*end, Layout::kRowMajor));
    made.outer = op_.Scratch("carried gradient", made.type.dtype, made.type.size());
    made_.push_back(std::move(made));
    return absl::OkStatus();
  }

  // Error: the outer gradient that the first run begins with is of another type.
  absl::Status CheckIsCarriedAs(const TensorType& type, const BlockGradients::Made& gradient) {
    if (gradient.carried < 0) return absl::OkStatus();
    const std::optional<TensorType>& given = given_[gradient.carried].type;
    if (given == type) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(
        "\"", gradient.outer->name(), "\" is ", given ? DimsText(given->dims) : "not known",
        "; want ", DimsText(type.dims), ", as \"", gradient.of->name(), "\""));
  }

  void AddStep(Buffer kept_runs) {
    StepKernel step = BlockStep(in_planning_.planned, nullptr);
    step.reads.push_back(kept_runs);
    for (const Given& given : given_) {
      if (given.outer) step.reads.push_back(*given.outer);
      if (given.is_set) step.reads.push_back(*given.is_set);
      if (given.elements.index >= 0) step.writes.push_back(given.elements);
      if (given.sum) step.writes.push_back(*given.sum);
    }
    for (const Made& made : made_) step.writes.push_back(made.outer);
    step.in_each_run = true;
    step.run = [planned = in_planning_.planned, held = held_, restored = restored_, given = given_,
                made = made_, is_reversed = gradients_.is_reversed](const StepContext& run) {
      return Run(run, *planned, *held, restored, given, made, is_reversed);
    };
    op_.AddStep(std::move(step));
  }

  static absl::Status Run(const StepContext& run, PlannedBlock& planned, const HeldRuns& held,
                          const std::vector<Restored>& restored, const std::vector<Given>& given,
                          const std::vector<Made>& made, bool is_reversed) {
    const auto bytes = [&run](Buffer buffer) { return run.Of<uint8_t>(buffer).data(); };
    const auto size_of = [&](Buffer inner) { return planned.plan->buffers[inner.index].bytes(); };
    planned.Begin(run);
    for (const Given& gradient : given) {
      if (gradient.array) {
        if (gradient.is_new) gradient.array->array->Clear();
      } else if (gradient.type) {
        Begin(run, gradient);
        if (!gradient.inner) continue;
        planned.addresses[gradient.inner->index] = bytes(gradient.elements);
      }
    }
    for (const Made& gradient : made) {
      if (gradient.array) {
        if (gradient.carried < 0) gradient.array->array->Clear();
        continue;
      }
      const absl::Span<float> sum = run.Floats(gradient.outer);
      std::fill(sum.begin(), sum.end(), 0.0f);
    }
    const size_t count = held.runs->size();
    for (const int64_t steps : StepCounts(given, made)) {
      if (steps == static_cast<int64_t>(count)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the op ran ", count, " steps; a sequence has ", steps));
    }
    for (size_t i = count; i > 0; --i) {
      KeptRuns::Run& kept = (*held.runs)[i - 1];
      const int64_t step = static_cast<int64_t>(is_reversed ? count - i : i - 1);
      for (const Given& gradient : given) {
        if (!gradient.inner || gradient.array) continue;
        const bool is_there =
            gradient.outer && (!gradient.is_set || run.Of<bool>(*gradient.is_set)[0]);
        const int64_t size = size_of(*gradient.inner);
        uint8_t* const part = gradient.steps > 0 && is_there ? bytes(*gradient.outer) + step * size
                                                             : bytes(gradient.elements);
        uint8_t*& address = planned.addresses[gradient.inner->index];
        if (gradient.sum) {
          std::memmove(bytes(*gradient.sum), address, size);
          AddTo(absl::MakeSpan(reinterpret_cast<const float*>(part), size / sizeof(float)),
                run.Floats(*gradient.sum));
          address = bytes(*gradient.sum);
        } else {
          address = part;
        }
      }
      PutBack(restored, &kept, &planned);
      for (const Made& gradient : made) {
        if (gradient.inner_array != nullptr) gradient.inner_array->Clear();
      }
      RETURN_IF_ERROR(planned.Run(run));
      for (const Made& gradient : made) {
        if (gradient.inner_array != nullptr) {
          RETURN_IF_ERROR(AddTo(*gradient.inner_array, gradient.array->array.get()));
        }
        if (!gradient.inner) continue;
        const uint8_t* const end = planned.addresses[gradient.inner->index];
        if (gradient.steps > 0) {
          const int64_t size = size_of(*gradient.inner);
          std::copy_n(end, size, bytes(gradient.outer) + step * size);
        } else if (gradient.carried >= 0) {
          std::copy_n(end, size_of(*gradient.inner), bytes(gradient.outer));
        } else {
          const absl::Span<float> sum = run.Floats(gradient.outer);
          AddTo(absl::MakeSpan(reinterpret_cast<const float*>(end), sum.size()), sum);
        }
      }
      // Only then, because what a run makes may be what it was given.
      for (const Made& gradient : made) {
        if (!gradient.inner || gradient.carried < 0) continue;
        std::copy_n(bytes(gradient.outer), size_of(*gradient.inner),
                    bytes(given[gradient.carried].elements));
      }
    }
    for (const Made& gradient : made) {
      if (gradient.array || gradient.carried < 0) continue;
      const Buffer carried = given[gradient.carried].elements;
      std::copy_n(run.Floats(carried).begin(), carried.size, run.Floats(gradient.outer).begin());
    }
    return absl::OkStatus();
  }

  // Of all sequences of a step for each run.
  static std::vector<int64_t> StepCounts(const std::vector<Given>& given,
                                         const std::vector<Made>& made) {
    std::vector<int64_t> counts;
    for (const Given& gradient : given) {
      if (gradient.steps > 0) counts.push_back(gradient.steps);
    }
    for (const Made& gradient : made) {
      if (gradient.steps > 0) counts.push_back(gradient.steps);
    }
    return counts;
  }

  static void Begin(const StepContext& run, const Given& given) {
    const auto size = given.type->size() * static_cast<int64_t>(ElementSize(given.type->dtype));
    uint8_t* const to = run.Of<uint8_t>(given.elements).data();
    const bool is_there = given.outer && (!given.is_set || run.Of<bool>(*given.is_set)[0]);
    if (size == 0) return;
    if (is_there && given.steps == 0) {
      std::memcpy(to, run.Of<uint8_t>(*given.outer).data(), size);
    } else {
      std::memset(to, 0, size);
    }
  }

  static void PutBack(const std::vector<Restored>& restored, KeptRuns::Run* kept,
                      PlannedBlock* planned) {
    for (const Restored& value : restored) {
      if (value.kept.array) {
        *value.kept.array->array = kept->arrays[value.kept.place];
      } else if (value.kept.inner != nullptr) {
        std::swap(kept->inner[value.kept.place], *value.kept.inner->runs);
      } else {
        const auto put = [&](Buffer buffer, const KeptValue::Part& part) {
          planned->addresses[buffer.index] = AddressOf(part, *kept);
        };
        put(value.elements, value.kept.elements);
        if (value.dims) put(*value.dims, *value.kept.dims);
        for (size_t level = 0; level < value.offsets.size(); ++level) {
          put(value.offsets[level], value.kept.offsets[level]);
        }
        if (value.is_set) put(*value.is_set, *value.kept.is_set);
      }
    }
  }

  OpPlanner& op_;
  PlanBuilder& builder_;
  const Block& block_;
  const BlockGradients gradients_;
  std::shared_ptr<const HeldRuns> held_;
  BlockInPlanning in_planning_;
  std::vector<Restored> restored_;
  std::vector<Given> given_;  // like gradients_.given
  std::vector<Made> made_;
};

absl::Status PlanBlockGradient(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Block* block, BlockOf(op));
  ASSIGN_OR_RETURN(BlockGradients gradients, BlockGradientsOf(op.op()));
  return BlockGradientPlan(op, *block, std::move(gradients)).Plan();
}

}  // namespace

OpPlans BlockGradientPlans() {
  return {{"conditional_block_grad", PlanBlockGradient},
          {"recurrent_grad", PlanBlockGradient},
          {"while_grad", PlanBlockGradient}};
}

}  // namespace fixpoint::executor
