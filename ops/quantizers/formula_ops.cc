#include "ops/quantizers/formula_ops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ops/code_range.h"
#include "ops/op_schema.h"
#include "ops/quantizers/formula_links.h"
#include "ops/quantizers/formula_words.h"
#include "ops/surrogate.h"
#include "ops/written_op.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/op_builder.h"
#include "proto/program/slots.h"

namespace fixpoint {
namespace {

bool Reduces(const OpDesc& op) { return absl::StartsWith(op.type(), "reduce_"); }
bool IsElementwise(const OpDesc& op) { return absl::StartsWith(op.type(), "elementwise_"); }

OpDesc FillConstant(absl::string_view name, double value) {
  return OpBuilder("fill_constant")
      .Output("Out", name)
      .LongsAttr("shape", {1})
      .IntAttr("dtype", VarType::FP32)
      .FloatAttr("value", static_cast<float>(value))
      .Build();
}

}  // namespace

FormulaOps::FormulaOps(const QuantizerText& text, const QuantizerUse& use)
    : text_(text), use_(use) {
  for (const char* value :
       {Quantizer::kValue, Quantizer::kValueGradient, Quantizer::kResultGradient}) {
    extents_[value] = Extent::kValue;
  }
  extents_[Quantizer::kLearningRate] = Extent::kOne;
  for (const absl::string_view number : NumbersOfSpec()) extents_[number] = Extent::kOne;
  for (const QuantizerParameter& setting : text.settings) extents_[setting.name] = Extent::kOne;
  for (const QuantizerText::State& state : text.states) {
    const Extent extent = ExtentOf(state);
    extents_[state.name] = extent;
    if (state.is_trained) extents_[absl::StrCat(state.name, kGradientSuffix)] = extent;
  }
}

FormulaOps::Extent FormulaOps::ExtentOf(const QuantizerText::State& state) {
  switch (state.extent) {
    case QuantizerText::State::Extent::kOne:
      return Extent::kOne;
    case QuantizerText::State::Extent::kRanges:
      return Extent::kRanges;
    case QuantizerText::State::Extent::kElements:
      break;
  }
  return Extent::kValue;
}

absl::StatusOr<std::vector<OpDesc>> FormulaOps::Fill(const QuantizerText::Section& section) {
  std::vector<OpDesc> ops;
  for (size_t i = 0; i < section.ops.size(); ++i) {
    OpDesc op = section.ops[i];
    RETURN_IF_ERROR(CheckOutputs(op, section, section.lines[i]));
    RETURN_IF_ERROR(FillOne(&op, section.lines[i]));
    ForEachInput(op, [&](const std::string& name) {
      const bool is_number = IsNumberOfSpec(name) || IsSetting(name);
      if (!is_number || !written_numbers_.insert(name).second) return;
      for (OpDesc& write : WriteNumber(name)) ops.push_back(std::move(write));
    });
    ops.push_back(std::move(op));
  }
  return ops;
}

absl::Status FormulaOps::FillOne(OpDesc* op, int line) {
  for (OpDesc::Attr& attr : *op->mutable_attrs()) RETURN_IF_ERROR(FillAttribute(*op, &attr, line));
  RETURN_IF_ERROR(TakeExtents(op, line));
  if (FindOpSchema(op->type())->FindAttr(kSurrogateAttr, use_.era) != nullptr) SetCodeAttrs(op);
  return absl::OkStatus();
}

// The codes of the spec, in an op that quantizes, or that is the gradient of one.
void FormulaOps::SetCodeAttrs(OpDesc* op) const {
  const CodeRange codes = CodeRangeOf(use_.spec);
  if (FindAttr(*op, "bit_length") == nullptr) {
    SetAttr(MakeIntAttr("bit_length", codes.bits), op);
  }
  const OpSchema& schema = *FindOpSchema(op->type());
  if (schema.FindAttr("unsigned_codes", use_.era) != nullptr) {
    SetAttr(MakeBoolAttr("unsigned_codes", codes.is_unsigned), op);
  }
  SetAttr(MakeIntAttr("round_type", RoundTypeOf(codes.rounding)), op);
  if (per_channel()) SetAttr(MakeIntAttr("quant_axis", use_.spec.axis()), op);
}

absl::Status FormulaOps::CheckIsTrained(absl::string_view gradient, absl::string_view use,
                                        int line) const {
  absl::string_view name = gradient;
  if (extents_.contains(gradient) || !absl::ConsumeSuffix(&name, kGradientSuffix) ||
      text_.FindState(name) == nullptr) {
    return absl::OkStatus();
  }
  return text_.Error(line, absl::StrCat(use, " \"", gradient, "\", and ", name,
                                        " is not trained; declare it with trained=true"));
}

absl::Status FormulaOps::CheckOutputs(const OpDesc& op, const QuantizerText::Section& section,
                                      int line) const {
  absl::Status status = absl::OkStatus();
  ForEachOutput(op, [&](const std::string& name) {
    const bool is_state = text_.FindState(name) != nullptr;
    const bool is_gradient = absl::EndsWith(name, kGradientSuffix);
    const bool may_write =
        !extents_.contains(name) ||
        (is_state && (&section == &text_.initial || &section == &text_.update)) ||
        (is_gradient && name != Quantizer::kResultGradient && &section == &text_.gradient);
    if (status.ok()) status = CheckIsTrained(name, "writes", line);
    if (status.ok() && !may_write) {
      status = text_.Error(line, absl::StrCat("writes \"", name,
                                              "\", which stands for something "
                                              "else; want another name"));
    }
  });
  return status;
}

absl::Status FormulaOps::FillAttribute(const OpDesc& op, OpDesc::Attr* attr, int line) const {
  if (!StandsForNumber(*attr)) return absl::OkStatus();
  const std::vector<std::string> parts = absl::StrSplit(attr->s().substr(1), '+');
  const std::string& name = parts.front();
  int32_t more = 0;
  const bool is_sum = parts.size() == 2 && absl::SimpleAtoi(parts.back(), &more);
  const bool is_known = (IsNumberOfSpec(name) && name != kCount) || IsSetting(name);
  if (!is_known || (parts.size() > 1 && !is_sum)) {
    return text_.Error(line, absl::StrCat(attr->name(), ": \"", attr->s(),
                                          "\" is neither a setting nor bits, largest or lowest, "
                                          "nor one of these and an integer, like $bits+1"));
  }
  const AttrSchema* const schema = FindOpSchema(op.type())->FindAttr(attr->name(), use_.era);
  const double value = NumberOf(name) + more;
  if (schema != nullptr && schema->type == INT) {
    double largest = std::fabs(value);
    for (const QuantizerParameter& setting : text_.settings) {
      if (setting.name != name) continue;
      largest = std::max(std::fabs(setting.min + more), std::fabs(setting.max + more));
    }
    if (!(largest < 1e9)) {
      return text_.Error(
          line, absl::StrCat(attr->name(), " can be ", largest, "; want an integer below 1e9"));
    }
    *attr = MakeIntAttr(attr->name(), static_cast<int32_t>(value));
  } else if (schema != nullptr && schema->type == FLOAT) {
    *attr = MakeFloatAttr(attr->name(), static_cast<float>(value));
  } else {
    return text_.Error(line, absl::StrCat(attr->name(), " of ", op.type(), " is no number"));
  }
  return absl::OkStatus();
}

absl::Status FormulaOps::TakeExtents(OpDesc* op, int line) {
  Extent largest = Extent::kOne;
  absl::Status status = absl::OkStatus();
  ForEachInput(*op, [&](const std::string& name) {
    const auto known = extents_.find(name);
    if (known == extents_.end()) {
      if (status.ok()) status = CheckIsTrained(name, "reads", line);
      if (status.ok()) {
        status = text_.Error(line, absl::StrCat("reads \"", name,
                                                "\", which is no state, setting or number, and "
                                                "which no op before it writes"));
      }
      return;
    }
    largest = std::max(largest, known->second);
  });
  RETURN_IF_ERROR(status);
  if (op->type() == kSplitGroups || op->type() == kJoinGroups) return Reshape(op, line);
  if (Reduces(*op)) {
    const bool names_axes =
        FindAttr(*op, "dim") != nullptr || FindAttr(*op, "reduce_all") != nullptr;
    largest = names_axes ? Extent::kOne : ReduceWhatSharesARange(largest, op);
  }
  if (IsElementwise(*op)) BroadcastRanges(op);
  ForEachOutput(*op, [&](const std::string& name) { extents_[name] = largest; });
  return absl::OkStatus();
}

FormulaOps::Extent FormulaOps::ReduceWhatSharesARange(Extent extent, OpDesc* op) const {
  switch (extent) {
    case Extent::kOne:
    case Extent::kRanges:
      return Extent::kOne;
    case Extent::kGroupedValue:
      SetAttr(MakeIntsAttr("dim", {grouped_.has_value() ? grouped_->element_axis : 0}), op);
      SetAttr(MakeBoolAttr("keep_dim", true), op);
      return Extent::kGroups;
    case Extent::kGroups:
      SetAttr(MakeIntsAttr("dim",
                           grouped_.has_value() ? grouped_->OtherAxes() : std::vector<int32_t>()),
              op);
      return Extent::kRanges;
    case Extent::kValue:
      break;
  }
  if (per_channel()) {
    const int rank = use_.dims ? static_cast<int>(use_.dims->size()) : 0;
    std::vector<int32_t> others;
    for (int axis = 0; axis < rank; ++axis) {
      if (axis != use_.spec.axis()) others.push_back(axis);
    }
    SetAttr(MakeIntsAttr("dim", others), op);
  } else {
    SetAttr(MakeBoolAttr("reduce_all", true), op);
  }
  return Extent::kRanges;
}

void FormulaOps::BroadcastRanges(OpDesc* op) const {
  if (!per_channel() || FindAttr(*op, "axis") != nullptr) return;
  const auto extent = [this, op](absl::string_view slot) {
    const OpDesc::Var* const found = FindSlot(op->inputs(), slot);
    return found == nullptr || found->arguments_size() == 0 ? Extent::kOne
                                                            : extents_.at(found->arguments(0));
  };
  if (extent("Y") != Extent::kRanges || extent("X") <= Extent::kRanges) return;
  const bool is_value = extent("X") == Extent::kValue;
  if (!is_value && !grouped_.has_value()) return;
  SetAttr(MakeIntAttr("axis", is_value ? use_.spec.axis() : grouped_->channel_axis), op);
}

absl::Status FormulaOps::Reshape(OpDesc* op, int line) {
  const bool splits = op->type() == kSplitGroups;
  const std::string x = op->inputs(0).arguments(0);
  const std::string out = op->outputs(0).arguments(0);
  if (extents_.at(x) != (splits ? Extent::kValue : Extent::kGroupedValue)) {
    return text_.Error(
        line, absl::StrCat(op->type(), " reads \"", x, "\", which has ",
                           splits ? "not one number for each element of the value" : "no groups"));
  }
  if (!IsSetting(kGroupSize)) {
    return text_.Error(line, absl::StrCat(op->type(), " needs a setting ", kGroupSize,
                                          ", how many inputs of a product are a group, from 1 on"));
  }
  Dims dims = {-1};
  if (use_.dims.has_value()) {
    if (!grouped_.has_value()) {
      grouped_ =
          SplitIntoGroups(*use_.dims, use_.spec.axis(), static_cast<int64_t>(NumberOf(kGroupSize)));
    }
    dims = splits ? grouped_->dims : *use_.dims;
  }
  op->set_type("reshape");
  SetAttr(MakeIntsAttr("shape", std::vector<int32_t>(dims.begin(), dims.end())), op);
  extents_[out] = splits ? Extent::kGroupedValue : Extent::kValue;
  return absl::OkStatus();
}

bool FormulaOps::IsSetting(absl::string_view name) const {
  return std::any_of(text_.settings.begin(), text_.settings.end(),
                     [name](const QuantizerParameter& setting) { return setting.name == name; });
}

double FormulaOps::NumberOf(absl::string_view name) const {
  const CodeRange codes = CodeRangeOf(use_.spec);
  if (name == kBits) return use_.spec.bits();
  if (name == "largest") return codes.largest;
  if (name == "lowest") return codes.smallest;
  for (const QuantizerParameter& setting : text_.settings) {
    if (setting.name != name) continue;
    const auto given = use_.spec.parameters().find(setting.name);
    return given == use_.spec.parameters().end() ? setting.default_value : given->second;
  }
  return 0;
}

std::vector<OpDesc> FormulaOps::WriteNumber(const std::string& name) const {
  if (name == kCount) return WriteCount();
  return {FillConstant(name, NumberOf(name))};
}

std::vector<OpDesc> FormulaOps::WriteCount() const {
  const bool of_sample = use_.role == SlotRole::ACTIVATION;
  bool is_known = use_.dims.has_value() && !use_.dims->empty();
  double count = 1;
  for (size_t axis = of_sample ? 1 : 0; is_known && axis < use_.dims->size(); ++axis) {
    if (per_channel() && static_cast<int>(axis) == use_.spec.axis()) continue;
    const int64_t extent = (*use_.dims)[axis];
    is_known = extent != kUnknownDim;
    count *= static_cast<double>(extent);
  }
  if (is_known) return {FillConstant(kCount, count)};
  // What a run is fed decides it. An activation has one range, so that no axis is left out.
  std::vector<OpDesc> ops = {
      OpBuilder("shape").Input("Input", Quantizer::kValue).Output("Out", "@count.shape").Build()};
  std::string extents = "@count.shape";
  if (of_sample) {
    ops.push_back(OpBuilder("slice")
                      .Input("Input", extents)
                      .Output("Out", "@count.of_sample")
                      .IntsAttr("axes", {0})
                      .IntsAttr("starts", {1})
                      .IntsAttr("ends", {INT32_MAX})
                      .Build());
    extents = "@count.of_sample";
  }
  ops.push_back(OpBuilder("cast")
                    .Input("X", extents)
                    .Output("Out", "@count.extents")
                    .IntAttr("in_dtype", VarType::INT32)
                    .IntAttr("out_dtype", VarType::FP32)
                    .Build());
  ops.push_back(OpBuilder("reduce_prod")
                    .Input("X", "@count.extents")
                    .Output("Out", kCount)
                    .BoolAttr("reduce_all", true)
                    .Build());
  return ops;
}

bool FormulaOps::HasRangesPerChannel() const {
  const OpDesc::Var* const range = FindSlot(QuantizeOpOf(text_).inputs(), kScaleSlot);
  if (range == nullptr || range->arguments_size() == 0) return false;
  const auto extent = extents_.find(range->arguments(0));
  return extent != extents_.end() && extent->second == Extent::kRanges;
}

std::vector<OpDesc> OpsThatWrite(const std::vector<OpDesc>& ops,
                                 absl::flat_hash_set<std::string> wanted) {
  std::vector<OpDesc> kept;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    bool is_wanted = false;
    ForEachOutput(*op, [&](const std::string& name) { is_wanted |= wanted.contains(name); });
    if (!is_wanted) continue;
    ForEachInput(*op, [&wanted](const std::string& name) { wanted.insert(name); });
    kept.push_back(*op);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace fixpoint
