// Arrays of tensors, and sequences step by step in the order of their lengths.
//
// A rank table is held as INT64 [sequences, 2]: the number of each sequence and its length, longest
// first. Its offsets are the levels of X above that of the table.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/lod.h"
#include "proto/base/status_macros.h"
#include "runtime/reference/kernels.h"
#include "runtime/reference/kernels/array_pieces.h"
#include "runtime/reference/walk.h"

namespace fixpoint::reference {
namespace {

using Elements = std::vector<std::shared_ptr<const Array>>;

// No array is longer: places come from files.
constexpr int64_t kMostElements = int64_t{1} << 20;

absl::StatusOr<int64_t> PlaceOf(const OpRun& op) {
  RETURN_IF_ERROR(op.CheckSize("I", 1));
  const int64_t place = ToInt(op.Input("I")[0]);
  if (place >= 0 && place < kMostElements) return place;
  return absl::InvalidArgumentError(
      absl::StrCat("I is ", place, "; want 0 to ", kMostElements - 1));
}

absl::StatusOr<const Elements*> ElementsOf(const OpRun& op, absl::string_view slot) {
  const Array& array = op.Input(slot);
  if (array.elements) return &*array.elements;
  return absl::InvalidArgumentError(
      absl::StrCat(slot, " is a tensor ", DimsText(array.dims), "; want an array of tensors"));
}

void SetElements(OpRun& op, Elements elements) {
  Array array(VarType::FP32, Dims{0});
  array.elements = std::move(elements);
  op.SetCutOutput("Out", std::move(array));
}

struct Ranked {
  int64_t sequence;
  int64_t length;
};

absl::StatusOr<std::vector<Ranked>> TableOf(const OpRun& op) {
  const Array& table = op.Input("RankTable");
  const int64_t count = table.size() / 2;
  bool is_table = !table.elements && table.rank() == 2 && table.dims[1] == 2;
  std::vector<Ranked> ranked;
  std::vector<bool> seen(is_table ? count : 0);
  for (int64_t i = 0; is_table && i < count; ++i) {
    ranked.push_back({ToInt(table[2 * i]), ToInt(table[2 * i + 1])});
    const Ranked& last = ranked.back();
    is_table = last.sequence >= 0 && last.sequence < count && !seen[last.sequence] &&
               last.length >= 0 && last.length <= kMostElements &&
               (i == 0 || last.length <= ranked[i - 1].length);
    if (is_table) seen[last.sequence] = true;
  }
  if (is_table) return ranked;
  return absl::InvalidArgumentError(
      absl::StrCat("RankTable is ", DimsText(table.dims), "; want what lod_rank_table makes"));
}

int64_t CountLongerThan(const std::vector<Ranked>& table, int64_t step) {
  return std::count_if(table.begin(), table.end(),
                       [step](const Ranked& ranked) { return ranked.length > step; });
}

absl::Status WriteToArray(OpRun& op) {
  ASSIGN_OR_RETURN(const int64_t place, PlaceOf(op));
  ASSIGN_OR_RETURN(const Array* before, op.FindBefore("Out"));
  Elements elements;
  if (before != nullptr && before->elements) elements = *before->elements;
  if (static_cast<int64_t>(elements.size()) <= place) elements.resize(place + 1);
  elements[place] = std::make_shared<const Array>(op.Input("X"));
  SetElements(op, std::move(elements));
  return absl::OkStatus();
}

absl::Status ReadFromArray(OpRun& op) {
  ASSIGN_OR_RETURN(const int64_t place, PlaceOf(op));
  ASSIGN_OR_RETURN(const Elements* elements, ElementsOf(op, "X"));
  const bool is_there =
      place < static_cast<int64_t>(elements->size()) && (*elements)[place] != nullptr;
  if (is_there) {
    op.SetCutOutput("Out", *(*elements)[place]);
  } else if (const Array* like = op.FindInput("X_W"); like != nullptr) {
    Array zeros(like->dtype, like->dims);
    zeros.lod = like->lod;
    op.SetCutOutput("Out", std::move(zeros));
  } else {
    op.SetCutOutput("Out", Array(VarType::FP32, Dims{0}));
  }
  return absl::OkStatus();
}

absl::Status LodArrayLength(OpRun& op) {
  ASSIGN_OR_RETURN(const Elements* elements, ElementsOf(op, "X"));
  Array length(VarType::INT64, Dims{1});
  length[0] = static_cast<double>(elements->size());
  op.SetOutput("Out", std::move(length));
  return absl::OkStatus();
}

// Joins along an axis, or along a new one.
absl::Status TensorArrayToTensor(OpRun& op) {
  ASSIGN_OR_RETURN(const Elements* elements, ElementsOf(op, "X"));
  const bool stacks = op.Bool("use_stack");
  if (elements->empty() || elements->front() == nullptr) {
    return absl::InvalidArgumentError("X has no first tensor; want tensors from place 0 on");
  }
  Dims dims = elements->front()->dims;
  const int rank = static_cast<int>(dims.size());
  const int64_t axis = op.Int("axis") < 0 ? op.Int("axis") + rank + stacks : op.Int("axis");
  if (axis < 0 || axis >= rank + stacks) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis is ", op.Int("axis"), " and the tensors are ", DimsText(dims)));
  }
  if (stacks) dims.insert(dims.begin() + axis, 1);
  Array index(VarType::INT32, Dims{static_cast<int64_t>(elements->size())});
  std::vector<Dims> shapes;
  int64_t total = 0;
  for (size_t i = 0; i < elements->size(); ++i) {
    const Array* element = (*elements)[i].get();
    Dims shape = element != nullptr ? element->dims : Dims{};
    if (stacks && static_cast<int64_t>(shape.size()) >= axis) shape.insert(shape.begin() + axis, 1);
    Dims wanted = dims;
    if (shape.size() == wanted.size()) wanted[axis] = shape[axis];
    const bool fits = element != nullptr && shape == wanted && (!stacks || shape == dims) &&
                      element->dtype == elements->front()->dtype;
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "X[", i, "] is ", element != nullptr ? DimsText(element->dims) : "unset", " and X[0] ",
          DimsText(elements->front()->dims), "; want them equal but for axis ", axis));
    }
    index[i] = static_cast<double>(shape[axis]);
    total += shape[axis];
    shapes.push_back(std::move(shape));
  }
  dims[axis] = total;
  Array out(elements->front()->dtype, dims);
  const AxisView joined = ViewAround(dims, static_cast<int>(axis));
  int64_t begin = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const AxisView view = ViewAround(shapes[i], static_cast<int>(axis));
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.size * view.inner; ++k) {
        out[joined.At(o, begin, 0) + k] = (*(*elements)[i])[view.At(o, 0, 0) + k];
      }
    }
    begin += view.size;
  }
  op.SetOutput("Out", std::move(out));
  op.SetOutput("OutIndex", std::move(index));
  return absl::OkStatus();
}

absl::Status LodRankTable(OpRun& op) {
  const Array& x = op.Input("X");
  const int64_t level = op.Int("level");
  RETURN_IF_ERROR(CheckLod("X", x));
  if (level < 0 || level >= static_cast<int64_t>(x.lod.size())) {
    return absl::InvalidArgumentError(absl::StrCat("level is ", level, " and X has ", x.lod.size(),
                                                   " levels of offsets; want one of them"));
  }
  const std::vector<uint64_t>& offsets = x.lod[level];
  std::vector<Ranked> ranked;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    ranked.push_back({static_cast<int64_t>(i), static_cast<int64_t>(offsets[i + 1] - offsets[i])});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.length > b.length; });
  Array table(VarType::INT64, Dims{static_cast<int64_t>(ranked.size()), 2});
  for (size_t i = 0; i < ranked.size(); ++i) {
    table[2 * i] = static_cast<double>(ranked[i].sequence);
    table[2 * i + 1] = static_cast<double>(ranked[i].length);
  }
  table.lod.assign(x.lod.begin(), x.lod.begin() + level);
  op.SetCutOutput("Out", std::move(table));
  return absl::OkStatus();
}

absl::Status MaxSequenceLen(OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<Ranked> table, TableOf(op));
  Array longest(VarType::INT64, Dims{1});
  longest[0] = table.empty() ? 0 : static_cast<double>(table.front().length);
  op.SetOutput("Out", std::move(longest));
  return absl::OkStatus();
}

absl::Status LodTensorToArray(OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<Ranked> table, TableOf(op));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(CheckLod("X", x));
  const size_t level = op.Input("RankTable").lod.size();
  const bool is_cut = level < x.lod.size() && x.lod[level].size() == table.size() + 1;
  if (!is_cut) {
    return absl::InvalidArgumentError(absl::StrCat(
        "X has no ", table.size(), " sequences at level ", level, ", which RankTable has"));
  }
  const std::vector<uint64_t>& offsets = x.lod[level];
  for (const Ranked& ranked : table) {
    const uint64_t length = offsets[ranked.sequence + 1] - offsets[ranked.sequence];
    if (length == static_cast<uint64_t>(ranked.length)) continue;
    return absl::InvalidArgumentError(absl::StrCat("sequence ", ranked.sequence, " of X has ",
                                                   length, " entries and in RankTable ",
                                                   ranked.length));
  }
  Elements elements;
  const int64_t longest = table.empty() ? 0 : table.front().length;
  for (int64_t step = 0; step < longest; ++step) {
    Array element = NoneOf(x, x.lod.size() - level - 1);
    const int64_t count = CountLongerThan(table, step);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = static_cast<int64_t>(offsets[table[i].sequence]) + step;
      RETURN_IF_ERROR(Append(Piece(x, level + 1, begin, begin + 1), &element));
    }
    elements.push_back(std::make_shared<const Array>(std::move(element)));
  }
  SetElements(op, std::move(elements));
  return absl::OkStatus();
}

absl::Status ArrayToLodTensor(OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<Ranked> table, TableOf(op));
  ASSIGN_OR_RETURN(const Elements* elements, ElementsOf(op, "X"));
  const int64_t longest = table.empty() ? 0 : table.front().length;
  if (static_cast<int64_t>(elements->size()) < longest) {
    return absl::InvalidArgumentError(absl::StrCat("X has ", elements->size(), " tensors; want ",
                                                   longest, ", one for each step"));
  }
  for (int64_t step = 0; step < longest; ++step) {
    const int64_t wanted = CountLongerThan(table, step);
    const Array* element = (*elements)[step].get();
    if (element != nullptr) RETURN_IF_ERROR(CheckLod("X's tensor", *element));
    const int64_t count = element == nullptr ? -1 : EntryCount(*element, 0);
    if (count == wanted) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("X[", step, "] has ", std::max<int64_t>(count, 0), " entries; want ", wanted));
  }
  std::vector<int64_t> place_of(table.size());
  for (size_t i = 0; i < table.size(); ++i) place_of[table[i].sequence] = static_cast<int64_t>(i);
  Array out = longest > 0 ? NoneOf(*elements->front(), elements->front()->lod.size())
                          : Array(VarType::FP32, Dims{0});
  std::vector<uint64_t> offsets = {0};
  for (const int64_t place : place_of) {
    for (int64_t step = 0; step < table[place].length; ++step) {
      RETURN_IF_ERROR(Append(Piece(*(*elements)[step], 0, place, place + 1), &out));
    }
    offsets.push_back(offsets.back() + table[place].length);
  }
  LoD lod = op.Input("RankTable").lod;
  lod.push_back(std::move(offsets));
  out.lod.insert(out.lod.begin(), lod.begin(), lod.end());
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

absl::Status ShrinkRnnMemory(OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<Ranked> table, TableOf(op));
  ASSIGN_OR_RETURN(const int64_t step, PlaceOf(op));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(CheckLod("X", x));
  const int64_t count = CountLongerThan(table, step);
  const int64_t there = EntryCount(x, 0);
  if (count > there) {
    return absl::InvalidArgumentError(
        absl::StrCat("X has ", there, " entries; want ", count, ", the sequences longer than I"));
  }
  op.SetCutOutput("Out", Piece(x, 0, 0, count));
  return absl::OkStatus();
}

absl::Status ShrinkRnnMemoryGrad(OpRun& op) {
  const Array& x = op.Input("X");
  const Array& out_grad = op.Input("Out@GRAD");
  Dims wanted = x.dims;
  if (!wanted.empty() && out_grad.rank() == x.rank()) wanted[0] = out_grad.dims[0];
  RETURN_IF_ERROR(op.CheckDims("Out@GRAD", wanted));
  if (out_grad.size() > x.size()) {
    return absl::InvalidArgumentError(absl::StrCat("Out@GRAD is ", DimsText(out_grad.dims),
                                                   " and X ", DimsText(x.dims),
                                                   "; want at most as many rows"));
  }
  Array grad(x.dtype, x.dims);
  std::copy(out_grad.values.begin(), out_grad.values.end(), grad.values.begin());
  op.SetOutput("X@GRAD", std::move(grad));
  return absl::OkStatus();
}

absl::Status ReorderByRank(OpRun& op) {
  ASSIGN_OR_RETURN(const std::vector<Ranked> table, TableOf(op));
  const Array& x = op.Input("X");
  RETURN_IF_ERROR(CheckLod("X", x));
  const int64_t count = EntryCount(x, 0);
  if (count != static_cast<int64_t>(table.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("X has ", count, " entries and RankTable ", table.size()));
  }
  Array out = NoneOf(x, x.lod.size());
  for (const Ranked& ranked : table) {
    RETURN_IF_ERROR(Append(Piece(x, 0, ranked.sequence, ranked.sequence + 1), &out));
  }
  op.SetCutOutput("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

Kernels TensorArrayKernels() {
  return {{"array_to_lod_tensor", ArrayToLodTensor},
          {"lod_array_length", LodArrayLength},
          {"lod_rank_table", LodRankTable},
          {"lod_tensor_to_array", LodTensorToArray},
          {"max_sequence_len", MaxSequenceLen},
          {"read_from_array", ReadFromArray},
          {"reorder_lod_tensor_by_rank", ReorderByRank},
          {"shrink_rnn_memory", ShrinkRnnMemory},
          {"shrink_rnn_memory_grad", ShrinkRnnMemoryGrad},
          {"tensor_array_to_tensor", TensorArrayToTensor},
          {"write_to_array", WriteToArray}};
}

}  // namespace fixpoint::reference
