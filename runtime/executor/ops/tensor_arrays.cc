// Arrays of tensors. A run decides what extents a tensor of an array has; a plan knows the most.

#include "runtime/executor/ops/tensor_arrays.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "proto/program/type_names.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/op_plans.h"
#include "runtime/executor/ops/rank_tables.h"
#include "runtime/executor/ops/run_shape.h"
#include "runtime/executor/tensor_array.h"
#include "runtime/tensor.h"

namespace fixpoint::executor {
namespace {

std::optional<int64_t> KnownPlace(const OpPlanner& op) {
  const auto known = op.builder().FindKnown(op.InputValue("I"));
  if (!known || known->front() < 0 || known->front() >= TensorArray::kMostElements) {
    return std::nullopt;
  }
  return static_cast<int64_t>(known->front());
}

HeldArray::Varying VaryingOf(const ReadShape& shape) {
  if (!shape.decided) return HeldArray::Varying::kNothing;
  return shape.decided->only_rows ? HeldArray::Varying::kRows : HeldArray::Varying::kExtents;
}

absl::Status PlanWrite(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer place, ReadPlace(op));
  const TensorType type = op.InputType("X");
  const ReadShape shape = ReadShape::OfAny(op, "X");
  ASSIGN_OR_RETURN(const Buffer x, op.Read("X", type.dtype));
  if (!op.Wants("Out")) return absl::OkStatus();
  HeldArray written{nullptr, type, VaryingOf(shape), shape.most_offsets()};
  written.contents = ContentsOf(op.builder(), ValueBefore(op.OutputValue("Out")));
  written.contents.Write(KnownPlace(op), shape.decided ? std::nullopt : std::optional(type.dims));
  bool is_new = false;
  ASSIGN_OR_RETURN(const HeldArray held, WriteArray(op, written, &is_new));
  std::vector<Buffer> reads = shape.buffers();
  reads.insert(reads.end(), {place, x});
  const auto element_bytes = static_cast<int64_t>(ElementSize(type.dtype));
  AddArrayStep(op, std::move(reads), {}, [=, array = held.array](const StepContext& run) {
    ASSIGN_OR_RETURN(const int64_t at, PlaceIn(run, place));
    const Dims dims = shape.DimsIn(run);
    if (is_new) array->Clear();
    TensorArray::Element& element = array->Set(at);
    element.dims.assign(dims.begin(), dims.end());
    element.lod = shape.LodIn(run);
    int64_t size = element_bytes;
    for (const int64_t dim : dims) size *= dim;
    const uint8_t* const bytes = run.Of<uint8_t>(x).data();
    element.bytes.assign(bytes, bytes + size);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::Status AddElementTo(const TensorArray::Element& part, int64_t place,
                          TensorArray::Element* sum) {
  if (sum->dims != part.dims) {
    return absl::InvalidArgumentError(absl::StrCat("element ", place, " is ", DimsText(part.dims),
                                                   " in one array and ", DimsText(sum->dims),
                                                   " in another; want the same extents"));
  }
  const auto* const added = reinterpret_cast<const float*>(part.bytes.data());
  auto* const there = reinterpret_cast<float*>(sum->bytes.data());
  for (size_t i = 0; i < part.bytes.size() / sizeof(float); ++i) there[i] += added[i];
  return absl::OkStatus();
}

// Error (kUnimplemented): a tensor of an array is larger than its plan has place for.
absl::Status CheckDimsFit(int64_t place, DimsView dims, DimsView most) {
  const bool fits = std::equal(dims.begin(), dims.end(), most.begin(), std::less_equal<>());
  if (fits) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("X[", place, "] is ", DimsText(dims),
                                               "; the plan is for at most ", DimsText(most),
                                               ", as much as was written before"));
}

// Error (kUnimplemented): a tensor of an array has more offsets than its plan has place for.
absl::Status CheckLodFits(const RunShape& shape, const LoD& lod) {
  if (lod.size() > shape.offsets.size()) {
    return absl::UnimplementedError(
        absl::StrCat("the tensor has ", lod.size(), " levels of offsets; the plan is for ",
                     shape.offsets.size(), ", as many as were written before"));
  }
  for (size_t level = 0; level < lod.size(); ++level) {
    const int64_t most = shape.offsets[level].size - 1;
    if (static_cast<int64_t>(lod[level].size()) <= most) continue;
    return absl::UnimplementedError(absl::StrCat("the tensor has ", lod[level].size(),
                                                 " offsets; the plan is for at most ", most,
                                                 ", as many as were written before"));
  }
  return absl::OkStatus();
}

// A tensor of an array whose extents are known: those of X_W.
void PlanReadLike(OpPlanner& op, const TensorType& type, Buffer place,
                  std::shared_ptr<TensorArray> held) {
  const Buffer out = op.WriteAs("Out", type);
  AddArrayStep(op, {place}, {out}, [=, held = std::move(held)](const StepContext& run) {
    ASSIGN_OR_RETURN(const int64_t at, PlaceIn(run, place));
    const TensorArray::Element* const element = held->Find(at);
    const absl::Span<uint8_t> bytes = run.Of<uint8_t>(out);
    if (element == nullptr) {
      std::fill(bytes.begin(), bytes.end(), uint8_t{0});
      return absl::OkStatus();
    }
    if (DimsView(element->dims) != DimsView(type.dims)) {
      return absl::UnimplementedError(absl::StrCat("X[", at, "] is ", DimsText(element->dims),
                                                   "; want ", DimsText(type.dims), ", as X_W"));
    }
    std::copy(element->bytes.begin(), element->bytes.end(), bytes.begin());
    return absl::OkStatus();
  });
}

// The extents of what is read where nothing was written, and no rows.
absl::Status PlanRead(OpPlanner& op) {
  ASSIGN_OR_RETURN(const Buffer place, ReadPlace(op));
  ASSIGN_OR_RETURN(const HeldArray* found, ReadArray(op, "X"));
  HeldArray held = *found;
  std::optional<Buffer> like;
  if (op.HasInput("X_W")) {
    const ReadShape shape = ReadShape::OfAny(op, "X_W");
    RETURN_IF_ERROR(held.MakeRoomFor({nullptr, op.InputType("X_W"), VaryingOf(shape)}));
    if (shape.decided) like = shape.decided->dims;
  }
  if (!op.Wants("Out")) return absl::OkStatus();
  if (op.HasInput("X_W") && !like) {
    PlanReadLike(op, op.InputType("X_W"), place, held.array);
    return absl::OkStatus();
  }
  const TensorType most = held.most;
  const Buffer out = op.WriteAs("Out", most);
  const bool only_rows = held.varying != HeldArray::Varying::kExtents;
  const RunShape shape = only_rows ? op.DecideShape("Out", held.most_offsets)
                                   : op.DecideExtents("Out", held.most_offsets);
  std::vector<Buffer> reads = {place};
  if (like) reads.push_back(*like);
  std::vector<Buffer> writes = shape.buffers();
  writes.push_back(out);
  AddArrayStep(
      op, std::move(reads), std::move(writes), [=, array = held.array](const StepContext& run) {
        ASSIGN_OR_RETURN(const int64_t at, PlaceIn(run, place));
        const TensorArray::Element* const element = array->Find(at);
        const absl::Span<int64_t> dims = run.Of<int64_t>(shape.dims);
        if (element != nullptr) {
          RETURN_IF_ERROR(CheckDimsFit(at, element->dims, most.dims));
          if (only_rows && DimsView(element->dims).subspan(1) != DimsView(most.dims).subspan(1)) {
            return absl::UnimplementedError(absl::StrCat("X[", at, "] is ", DimsText(element->dims),
                                                         "; want rows of ", DimsText(most.dims),
                                                         ", as in the plan"));
          }
          std::copy(element->dims.begin(), element->dims.end(), dims.begin());
        } else if (like) {
          const absl::Span<const int64_t> wanted = run.Of<int64_t>(*like);
          std::copy(wanted.begin(), wanted.end(), dims.begin());
        } else {
          std::copy(most.dims.begin(), most.dims.end(), dims.begin());
          dims[0] = 0;
        }
        uint8_t* const bytes = run.Of<uint8_t>(out).data();
        const int64_t size = element != nullptr ? static_cast<int64_t>(element->bytes.size()) : 0;
        if (size > 0) std::memcpy(bytes, element->bytes.data(), size);
        std::fill(bytes + size, bytes + most.size() * static_cast<int64_t>(ElementSize(most.dtype)),
                  uint8_t{0});
        const LoD lod = element != nullptr ? element->lod : LoD();
        RETURN_IF_ERROR(CheckLodFits(shape, lod));
        DecideLod(run, shape, lod);
        return absl::OkStatus();
      });
  return absl::OkStatus();
}

absl::Status PlanLength(OpPlanner& op) {
  ASSIGN_OR_RETURN(const HeldArray* held, ReadArray(op, "X"));
  const Buffer out = op.WriteAs("Out", {VarType::INT64, {1}});
  AddArrayStep(op, {}, {out}, [out, array = held->array](const StepContext& run) {
    run.Of<int64_t>(out)[0] = array->size();
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Buffer> ReadPlace(OpPlanner& op) {
  RETURN_IF_ERROR(op.CheckSize("I", 1));
  return op.Read("I", VarType::INT64);
}

absl::StatusOr<int64_t> PlaceIn(const StepContext& run, Buffer place) {
  const int64_t there = run.Of<int64_t>(place)[0];
  if (there >= 0 && there < TensorArray::kMostElements) return there;
  return absl::InvalidArgumentError(
      absl::StrCat("I is ", there, "; want 0 to ", TensorArray::kMostElements - 1));
}

bool IsCarriedByLoop(const PlanBuilder& builder, const Value* value) {
  // After a conditional that never runs its block a variable that held nothing is not planned.
  while (value != nullptr && value->origin() == Value::Origin::kExit &&
         !builder.IsPlanned(*value)) {
    value = value->merged()[0];
  }
  return value != nullptr && value->origin() == Value::Origin::kLoopHead;
}

ArrayContents ContentsOf(const PlanBuilder& builder, const Value* value) {
  if (value == nullptr) return ArrayContents::Of({});
  if (const auto* held = builder.Attached<HeldArray>(*value)) return held->contents;
  return IsCarriedByLoop(builder, value) ? ArrayContents() : ArrayContents::Of({});
}

void SetContents(const Value& value, ArrayContents contents, PlanBuilder* builder) {
  const auto* const found = builder->Attached<HeldArray>(value);
  if (found == nullptr) return;
  HeldArray held = *found;
  held.contents = std::move(contents);
  builder->Attach(value, std::move(held));
}

absl::StatusOr<HeldArray> WriteArray(OpPlanner& op, const HeldArray& written, bool* is_new) {
  if (written.most.dims.empty()) return absl::UnimplementedError("X is a scalar; want rows");
  const Value* before = ValueBefore(op.OutputValue("Out"));
  const auto* there = before != nullptr ? op.builder().Attached<HeldArray>(*before) : nullptr;
  HeldArray held = there != nullptr ? *there : written;
  if (there == nullptr) held.array = std::make_shared<TensorArray>();
  RETURN_IF_ERROR(held.MakeRoomFor(written));
  held.contents = written.contents;
  op.builder().Write(op.OutputValue("Out"), NoElements(), Layout::kRowMajor);
  op.builder().Attach(op.OutputValue("Out"), held);
  *is_new = there == nullptr && !IsCarriedByLoop(op.builder(), before);
  return held;
}

const TensorType& NoElements() {
  static const TensorType* const type = new TensorType{VarType::UINT8, {0}};
  return *type;
}

bool HeldArray::FitsIn(const HeldArray& other) const {
  const auto fits = [](const auto& sizes, const auto& most) {
    return sizes.size() <= most.size() &&
           std::equal(sizes.begin(), sizes.end(), most.begin(), std::less_equal<>());
  };
  return varying <= other.varying && fits(most.dims, other.most.dims) &&
         fits(most_offsets, other.most_offsets);
}

absl::Status HeldArray::MakeRoomFor(const HeldArray& other) {
  const Dims& dims = other.most.dims;
  if (other.most.dtype != most.dtype || dims.size() != most.dims.size()) {
    return absl::UnimplementedError(absl::StrCat(
        "X is ", TypeName(other.most.dtype), " ", DimsText(dims), " and the array has ",
        TypeName(most.dtype), " ", DimsText(most.dims), "; want tensors of one type and rank"));
  }
  varying = std::max(varying, other.varying);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == most.dims[i]) continue;
    varying = std::max(varying, i == 0 ? Varying::kRows : Varying::kExtents);
    most.dims[i] = std::max(most.dims[i], dims[i]);
  }
  most_offsets.resize(std::max(most_offsets.size(), other.most_offsets.size()));
  for (size_t level = 0; level < other.most_offsets.size(); ++level) {
    most_offsets[level] = std::max(most_offsets[level], other.most_offsets[level]);
  }
  return absl::OkStatus();
}

absl::Status AddTo(const TensorArray& part, TensorArray* sum) {
  for (int64_t i = 0; i < part.size(); ++i) {
    const TensorArray::Element* const added = part.Find(i);
    if (added == nullptr) continue;
    const bool is_there = sum->Find(i) != nullptr;
    TensorArray::Element& there = sum->Set(i);
    if (!is_there) {
      there = *added;
    } else {
      RETURN_IF_ERROR(AddElementTo(*added, i, &there));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanSumOfArrays(OpPlanner& op) {
  std::vector<HeldArray> terms;
  HeldArray most;
  for (int i = 0; i < op.InputCount("X"); ++i) {
    const auto* const term = op.builder().Attached<HeldArray>(op.InputValue("X", i));
    if (term == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("X[", i, "] is a tensor and X[0] an array of tensors; want arrays alone"));
    }
    if (term->most.dtype != VarType::FP32) {
      return absl::UnimplementedError("X is an array of other tensors than FP32");
    }
    if (i == 0) most = *term;
    RETURN_IF_ERROR(most.MakeRoomFor(*term));
    most.contents = Union(most.contents, term->contents);
    terms.push_back(*term);
  }
  if (!op.Wants("Out")) return absl::OkStatus();
  bool is_new = false;
  ASSIGN_OR_RETURN(const HeldArray sum, WriteArray(op, most, &is_new));
  AddArrayStep(op, {}, {}, [terms, sum = sum.array](const StepContext&) {
    // Which may be a term.
    TensorArray total = *terms[0].array;
    for (size_t i = 1; i < terms.size(); ++i) {
      RETURN_IF_ERROR(AddTo(*terms[i].array, &total));
    }
    *sum = std::move(total);
    return absl::OkStatus();
  });
  return absl::OkStatus();
}

absl::StatusOr<const HeldArray*> ReadArray(const OpPlanner& op, absl::string_view slot) {
  if (const auto* held = op.builder().Attached<HeldArray>(op.InputValue(slot)); held != nullptr) {
    return held;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      slot, " is a tensor ", DimsText(op.InputDims(slot)), "; want an array of tensors"));
}

void AddArrayStep(OpPlanner& op, std::vector<Buffer> reads, std::vector<Buffer> writes,
                  std::function<absl::Status(const StepContext&)> run) {
  StepKernel kernel{std::move(reads), std::move(writes), std::move(run)};
  kernel.in_each_run = true;
  op.AddStep(std::move(kernel));
}

void PassOnArray(const PlanBuilder& from, const Value& value, PlanBuilder* to, const Value& as) {
  using Table = std::shared_ptr<const RankTable>;
  if (const auto* held = from.Attached<HeldArray>(value)) to->Attach(as, HeldArray(*held));
  if (const auto* table = from.Attached<Table>(value)) to->Attach(as, Table(*table));
}

OpPlans TensorArrayPlans() {
  return {{"lod_array_length", PlanLength},
          {"read_from_array", PlanRead},
          {"write_to_array", PlanWrite}};
}

}  // namespace fixpoint::executor
