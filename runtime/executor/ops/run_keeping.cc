#include "runtime/executor/ops/run_keeping.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/block_gradients.h"
#include "ops/unset_inputs.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/executor/unset_values.h"
#include "runtime/memory.h"

namespace fixpoint::executor {
namespace {

KeptValue::Part PartOf(Buffer buffer, int64_t bytes, HeldRuns* held) {
  KeptValue::Part part{buffer, held->bytes, bytes};
  held->bytes += Aligned(bytes);
  return part;
}

void Copy(const KeptValue::Part& part, const std::vector<uint8_t*>& addresses, KeptRuns::Run* run) {
  if (part.bytes > 0) {
    std::memcpy(AddressOf(part, *run), addresses[part.buffer.index], part.bytes);
  }
}

// Keeps a tensor as it is now.
void Keep(const KeptValue& value, const std::vector<uint8_t*>& addresses, KeptRuns::Run* run) {
  Copy(value.elements, addresses, run);
  for (const auto& part : {value.dims, value.is_set}) {
    if (part) Copy(*part, addresses, run);
  }
  for (const KeptValue::Part& level : value.offsets) Copy(level, addresses, run);
}

}  // namespace

uint8_t* AddressOf(const KeptValue::Part& part, KeptRuns::Run& run) {
  const auto address = reinterpret_cast<uintptr_t>(run.bytes.data());
  return run.bytes.data() + (Aligned(static_cast<int64_t>(address)) - address) + part.offset;
}

void RunKeeping::Want(BlockInPlanning* in_planning) {
  const Op* const reader = ReaderOfKeptRuns(op_.op());
  if (reader == nullptr || !op_.Wants(KeptRunsOf(op_.op())->slot_name())) return;
  held_ = std::make_shared<HeldRuns>();
  reads_ = CrossingOf(*reader, *reader->sub_blocks()[0]).of_runs;
  for (const ReadOfRun& read : reads_) {
    if (read.at_begin) continue;
    in_planning->builder.Attach(*read.kept, ReadAtEnd{});
    in_planning->wanted.push_back(read.kept);
  }
}

absl::Status RunKeeping::Finish(BlockInPlanning* in_planning, StepKernel* step) {
  if (held_ == nullptr) return absl::OkStatus();
  PlanBuilder& inner = in_planning->builder;
  const Plan& plan = *in_planning->planned->plan;
  for (const ReadOfRun& read : reads_) {
    if (!inner.IsPlanned(*read.kept)) return NoValue(*read.kept);
    KeptValue kept;
    kept.value = read.kept;
    kept.at_begin = read.at_begin;
    kept.type = {inner.TypeOf(*read.kept), inner.LodOf(*read.kept)};
    if (const auto* array = inner.Attached<HeldArray>(*read.kept)) {
      kept.array = *array;
      kept.place = held_->arrays++;
    } else if (const auto* runs = inner.Attached<std::shared_ptr<const HeldRuns>>(*read.kept)) {
      kept.inner = *runs;
      kept.place = held_->inner++;
    } else {
      if (read.at_begin && inner.FindCodes(*read.kept) != nullptr) {
        return absl::UnimplementedError(absl::StrCat("\"", read.kept->variable().name(),
                                                     "\" is held as codes and written again after "
                                                     "the op; want floats"));
      }
      // What the block's plan holds already.
      ASSIGN_OR_RETURN(const Buffer buffer, inner.Read(*read.kept, Layout::kRowMajor));
      kept.elements = PartOf(buffer, plan.buffers[buffer.index].bytes(), held_.get());
      if (const RunShape* shape = inner.RunShapeOf(*read.kept); shape != nullptr) {
        kept.decides = shape->op;
        kept.only_rows = shape->only_rows;
        kept.dims = PartOf(shape->dims, plan.buffers[shape->dims.index].bytes(), held_.get());
        for (const Buffer level : shape->offsets) {
          kept.offsets.push_back(PartOf(level, plan.buffers[level.index].bytes(), held_.get()));
        }
      }
      if (const auto* is_set = inner.Attached<IsSet>(*read.kept)) {
        kept.is_set = PartOf(is_set->flag, plan.buffers[is_set->flag.index].bytes(), held_.get());
      }
    }
    held_->values.push_back(std::move(kept));
  }
  const absl::string_view slot = KeptRunsOf(op_.op())->slot_name();
  const Buffer runs = op_.WriteAs(slot, NoElements());
  op_.builder().Attach(op_.OutputValue(slot), std::shared_ptr<const HeldRuns>(held_));
  step->writes.push_back(runs);
  step->in_each_run = true;
  return absl::OkStatus();
}

void RunKeeping::Runner::Begin() const {
  if (held != nullptr) held->runs->Clear();
}

absl::Status RunKeeping::Runner::Run(const StepContext& run) const {
  if (held == nullptr) return planned->Run(run);
  KeptRuns::Run& kept = held->runs->Add();
  kept.bytes.resize(held->bytes + Aligned(1));
  kept.arrays.resize(held->arrays);
  kept.inner.resize(held->inner);
  for (const KeptValue& value : held->values) {
    if (value.at_begin) Keep(value, planned->addresses, &kept);
  }
  RETURN_IF_ERROR(planned->Run(run));
  for (const KeptValue& value : held->values) {
    if (value.at_begin) continue;
    if (value.array) {
      kept.arrays[value.place] = *value.array->array;
    } else if (value.inner != nullptr) {
      std::swap(kept.inner[value.place], *value.inner->runs);
    } else {
      Keep(value, planned->addresses, &kept);
    }
  }
  return absl::OkStatus();
}

}  // namespace fixpoint::executor
