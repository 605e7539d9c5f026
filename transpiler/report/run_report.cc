#include "transpiler/report/run_report.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/code_ops.h"
#include "ops/never_negative.h"
#include "ops/op_schema.h"
#include "ops/op_traits.h"
#include "ops/op_types.h"
#include "proto/base/status_macros.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/plan/plan.h"
#include "transpiler/report/coded_range.h"
#include "transpiler/report/lowering_account.h"
#include "transpiler/sites/quantization_sites.h"
#include "transpiler/sites/stored_scale.h"

namespace fixpoint {
namespace {

// The op of the report whose result a value is, as codes or not; -1 if there is none. `places` has
// the ops so far, those that quantize or dequantize with the place of what they read.
int ComputedBy(const Value* value, const absl::flat_hash_map<const Op*, int>& places) {
  const auto found = places.find(value == nullptr ? nullptr : value->op());
  return found == places.end() ? -1 : found->second;
}

using OpPlace = std::pair<int, int>;  // block and op

// The ops of a report by their place.
absl::flat_hash_map<OpPlace, RunReport::Op*> OpsByPlace(RunReport* report) {
  absl::flat_hash_map<OpPlace, RunReport::Op*> ops;
  for (RunReport::Op& op : *report->mutable_ops()) ops[{op.block(), op.op()}] = &op;
  return ops;
}

void AddReader(int value, RunReport::Op* op) {
  const auto& values = op->values();
  if (std::find(values.begin(), values.end(), value) == values.end()) op->add_values(value);
}

// Which values of a plan cannot be negative.
class NegativeValues {
 public:
  explicit NegativeValues(const Program& program) : never_negative_(EraOf(program)) {
    for (const Op& op : program.ops()) ops_[{op.block().index(), op.Index()}] = &op;
  }

  bool AreNeverIn(const QuantPlan::ValueRef& ref) {
    const auto writer = ops_.find({ref.block(), ref.op()});
    if (ref.origin() != QuantPlan::WRITE || writer == ops_.end()) return false;
    for (const Argument* output : writer->second->outputs()) {
      if (output->name() == ref.variable() && output->value() != nullptr) {
        return never_negative_.Holds(*output->value());
      }
    }
    return false;
  }

 private:
  absl::flat_hash_map<OpPlace, const Op*> ops_;
  NeverNegative never_negative_;
};

// The spec of a quantizer whose ops are all that is known.
QuantSpec SpecOf(const QuantizationSite& site) {
  QuantSpec spec;
  if (!site.quantizer_name.empty()) spec.set_quantizer(site.quantizer_name);
  spec.set_bits(site.codes.bits);
  spec.set_signedness(site.codes.is_unsigned ? QuantSpec::UNSIGNED : QuantSpec::SIGNED);
  spec.set_scheme(site.is_affine ? QuantSpec::AFFINE : QuantSpec::SYMMETRIC);
  spec.set_rounding(site.codes.rounding);
  spec.set_granularity(site.axis == -1 ? QuantSpec::PER_TENSOR : QuantSpec::PER_CHANNEL);
  if (site.axis != -1) spec.set_axis(site.axis);
  return spec;
}

// The stored range of a symmetric quantizer, the widest if there are several; nothing if it finds
// its range in each tensor, or none was stored.
std::optional<float> StoredRange(const QuantizationSite& site, const Scope& trained,
                                 const QuantizerTable& quantizers) {
  if (site.is_dynamic || site.is_affine) return std::nullopt;
  if (site.axis == -1) {
    const auto scale = FindStoredScale(*site.scale, trained, quantizers);
    return scale.ok() ? std::optional<float>(scale->value) : std::nullopt;
  }
  const auto scales = FindStoredScales(*site.scale, trained, quantizers);
  if (!scales.ok() || scales->empty()) return std::nullopt;
  return *std::max_element(scales->begin(), scales->end());
}

std::vector<const Argument*> ReadersOf(const QuantizationSite& site) {
  std::vector<const Argument*> readers;
  const auto add = [&readers](const Argument* result) {
    if (result == nullptr || result->value() == nullptr) return;
    const auto& more = result->value()->readers();
    readers.insert(readers.end(), more.begin(), more.end());
  };
  if (site.fused) add(site.result);
  for (const Op* dequantize : site.dequantize) add(FindCodeArguments(*dequantize).output);
  return readers;
}

}  // namespace

void AddOps(const Program& program, RunReport* report) {
  OpTypes types(program);
  absl::flat_hash_map<const Op*, int> places;
  for (const Op& op : program.ops()) {
    if (!types.IsForward(op) || IsFeedOrFetch(op)) continue;
    const OpSchema* schema = types.SchemaOf(op);
    if (schema != nullptr && schema->quant_op() != QuantOp::kNone) {
      const Argument* input = FindCodeArguments(op).input;
      places[&op] = input == nullptr ? -1 : ComputedBy(input->value(), places);
      continue;
    }
    RunReport::Op& added = *report->add_ops();
    added.set_block(op.block().index());
    added.set_op(op.Index());
    added.set_type(op.type());
    const auto& outputs = op.outputs();
    if (!outputs.empty()) {
      added.set_output(std::string(outputs[0]->name()));
      const Variable* variable = outputs[0]->variable();
      if (variable != nullptr && variable->tensor() != nullptr) {
        for (const int64_t extent : variable->tensor()->dims()) added.add_shape(extent);
      }
    }
    std::set<int> reads;
    for (const Argument* input : op.inputs()) {
      const int read = ComputedBy(input->value(), places);
      if (read >= 0) reads.insert(read);
    }
    for (const int read : reads) added.add_reads(read);
    if (IsOnIntegers(op)) added.set_lowered(std::string(kOnIntegersCode));
    places[&op] = report->ops_size() - 1;
  }
}

void AddPlan(const QuantPlan& plan, const Program& program, RunReport* report) {
  report->set_target(plan.target());
  NegativeValues negative(program);
  const auto ops = OpsByPlace(report);
  for (const QuantPlan::Decision& decision : plan.decisions()) {
    const auto found = ops.find({decision.block(), decision.op()});
    if (found == ops.end()) continue;
    RunReport::Op& op = *found->second;
    op.set_quantized(decision.quantized());
    op.set_reason(decision.reason());
    if (!decision.rule().empty()) op.set_rule(decision.rule());
    if (!decision.detail().empty()) op.set_detail(decision.detail());
  }
  for (const QuantPlan::Site& site : plan.sites()) {
    if (IsOfGradient(site)) continue;  // it is gone when the program is frozen
    const int index = report->values_size();
    RunReport::Value& value = *report->add_values();
    value.set_variable(site.value().variable());
    value.set_role(site.role());
    *value.mutable_spec() = site.spec();
    if (site.observe()) value.set_observed_only(true);
    if (negative.AreNeverIn(site.value())) value.set_never_negative(true);
    if (site.has_range()) SetRange({site.range().min(), site.range().max()}, &value);
    for (const QuantPlan::SlotRef& reader : site.readers()) {
      const auto found = ops.find({reader.block(), reader.op()});
      if (found != ops.end()) AddReader(index, found->second);
    }
  }
}

absl::Status AddQuantizers(const Program& program, const Scope& trained,
                           const QuantizerTable& quantizers, RunReport* report) {
  ASSIGN_OR_RETURN(const std::vector<QuantizationSite> sites,
                   FindQuantizationSites(program, quantizers));
  const auto ops = OpsByPlace(report);
  Parameters parameters;
  NeverNegative never_negative(EraOf(program));
  for (const QuantizationSite& site : sites) {
    const int index = report->values_size();
    RunReport::Value& value = *report->add_values();
    value.set_variable(std::string(site.input->name()));
    const bool is_weight =
        site.input->value() != nullptr && parameters.IsWeight(*site.input->value());
    value.set_role(is_weight ? SlotRole::WEIGHT : SlotRole::ACTIVATION);
    *value.mutable_spec() = SpecOf(site);
    if (site.input->value() != nullptr && never_negative.Holds(*site.input->value())) {
      value.set_never_negative(true);
    }
    const std::optional<float> range = StoredRange(site, trained, quantizers);
    if (range) SetRange({-*range, *range}, &value);
    for (const Argument* reader : ReadersOf(site)) {
      const auto found = ops.find({reader->op().block().index(), reader->op().Index()});
      if (found == ops.end()) continue;
      found->second->set_quantized(true);
      AddReader(index, found->second);
    }
  }
  return absl::OkStatus();
}

void AddLowering(absl::Span<const LoweredOp> ops, RunReport* report) {
  // Of ops that write one variable, each belongs to the lowered op of the same rank.
  absl::flat_hash_map<std::pair<std::string, std::string>, std::vector<RunReport::Op*>> waiting;
  for (int i = report->ops_size() - 1; i >= 0; --i) {
    RunReport::Op& op = *report->mutable_ops(i);
    waiting[{op.type(), op.output()}].push_back(&op);
  }
  for (const LoweredOp& lowered : ops) {
    const auto found = waiting.find({lowered.type, lowered.output});
    if (found == waiting.end() || found->second.empty()) continue;
    found->second.back()->set_lowered(std::string(ReasonCode(lowered)));
    found->second.pop_back();
  }
}

absl::flat_hash_map<std::string, RunReport::Op*> WritersIn(RunReport* report) {
  absl::flat_hash_map<std::string, RunReport::Op*> writers;
  for (RunReport::Op& op : *report->mutable_ops()) writers[op.output()] = &op;
  return writers;
}

}  // namespace fixpoint
