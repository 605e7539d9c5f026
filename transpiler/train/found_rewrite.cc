#include "transpiler/train/found_rewrite.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/forward_ops.h"
#include "ops/gradient_links.h"
#include "ops/op_form.h"
#include "ops/op_schema.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/pipeline/marks.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/plan/schedule.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {
namespace {

// Quantizers of one value with the same text are equivalent. A range that is only read may differ
// for each of them; one that is learned belongs to the value.
std::string Way(const QuantizationSite& site, Era era) {
  std::string way = absl::StrCat(site.quantize->type(), "|", site.codes.bits, "|", site.axis, "|",
                                 site.codes.rounding, "|", site.dequantize.size());
  const bool learns =
      IsTest(site.quantize->desc(), era) != true && site.scale->variable()->persistable();
  if (!site.is_dynamic && !learns) absl::StrAppend(&way, "|", site.scale->name());
  return way;
}

class RewriteFinder {
 public:
  RewriteFinder(const Program& program, const QuantizerTable& quantizers)
      : program_(program), quantizers_(quantizers) {}

  FoundRewrite Find(const std::vector<QuantizationSite>& sites) {
    const Era era = EraOf(program_);
    for (const QuantizationSite& site : sites) {
      if (IsOfScaleTraining(*site.quantize)) continue;
      AddOps(site);
      if (site.input->value() == nullptr) continue;
      if (site.fused) {
        AddReaders(site, *site.result, Way(site, era));
        continue;
      }
      for (size_t i = 0; i < site.dequantize.size(); ++i) {
        AddReaders(site, *site.dequantize[i]->outputs().front(),
                   absl::StrCat(Way(site, era), "|", i));
      }
    }
    AddGradients();
    return std::move(rewrite_);
  }

 private:
  // The op that requantizes the sums that a site quantizes; null if none does.
  static const Op* FindRequantize(const QuantizationSite& site) {
    const Value* const value = site.input->value();
    const Op* const op = value != nullptr ? value->op() : nullptr;
    if (op == nullptr || op->type() != kRequantize) return nullptr;
    const Argument* const sums = op->Input("X");
    return sums != nullptr && sums->value() != nullptr ? op : nullptr;
  }

  void AddOps(const QuantizationSite& site) {
    if (const Op* const requantize = FindRequantize(site); requantize != nullptr) {
      rewrite_.ops.insert(requantize);
      AddVariable(*site.input);
    }
    for (const Op* op : site.ops()) {
      rewrite_.ops.insert(op);
      for (const Argument* output : op->outputs()) {
        if (!IsTrained(*output)) AddVariable(*output);
      }
      for (const Argument* input : op->inputs()) {
        const bool is_quantized = op == site.quantize && input == site.input;
        if (!is_quantized && !IsTrained(*input)) AddVariable(*input);
      }
    }
  }

  // Whether optimizer ops update the variable, or what it is computed from.
  bool IsTrained(const Argument& argument) const {
    const QuantizerRecipe* recipe = quantizers_.FindByQuantizeOp(argument.op().desc()).recipe;
    if (recipe == nullptr) return false;
    if (!argument.is_output() && argument.slot_name() == recipe->scale_input) return true;
    return std::any_of(
        recipe->state.begin(), recipe->state.end(), [&argument](const QuantizerState& state) {
          const std::string& slot = argument.is_output() ? state.output : state.input;
          return state.is_trained && slot == argument.slot_name();
        });
  }

  void AddVariable(const Argument& argument) {
    if (argument.variable() != nullptr) rewrite_.variables.insert(argument.variable());
  }

  // A schedule may select the result for the readers from a step on.
  void AddReaders(const QuantizationSite& found, const Argument& result, const std::string& way) {
    if (result.value() == nullptr) return;
    AddReadersOf(*result.value(), found, way);
    for (const Argument* reader : result.value()->readers()) {
      const Op& op = reader->op();
      const Argument* selected = IsSelect(*reader) ? op.Output("Out") : nullptr;
      if (selected == nullptr || selected->value() == nullptr) continue;
      rewrite_.ops.insert(&op);
      AddVariable(*selected);
      AddReadersOf(*selected->value(), found, way);
    }
  }

  void AddReadersOf(const Value& result, const QuantizationSite& found, const std::string& way) {
    const Op* const requantize = FindRequantize(found);
    const Argument& quantized = requantize != nullptr ? *requantize->Input("X") : *found.input;
    const Value& value = *quantized.value();
    stands_for_.emplace(&result, &value);
    for (const Argument* reader : result.readers()) {
      const Op& op = reader->op();
      if (!IsForward(*found.quantize) && absl::EndsWith(reader->slot_name(), kGradientSuffix)) {
        SiteOf(value, found, way).gradient_readers.push_back(reader);
      }
      if (!IsForward(op) || !op.sub_blocks().empty() || IsSelect(*reader)) continue;
      SiteOf(value, found, way).readers.push_back(reader);
      forward_types_.insert(op.type());
    }
  }

  static bool IsSelect(const Argument& reader) {
    return reader.op().type() == kSelectFromStep && reader.slot_name() == "X";
  }

  Site& SiteOf(const Value& value, const QuantizationSite& found, const std::string& way) {
    const auto [it, is_new] =
        site_of_.try_emplace(std::make_pair(&value, way), rewrite_.plan.sites.size());
    if (is_new) {
      Site site;
      site.value = &value;
      site.role = parameters_.IsWeight(value) ? SlotRole::WEIGHT : SlotRole::ACTIVATION;
      site.spec.set_bits(found.codes.bits);
      rewrite_.plan.sites.push_back(std::move(site));
    }
    return rewrite_.plan.sites[it->second];
  }

  void AddGradients() {
    const GradientLinks links(program_, forward_types_, stands_for_);
    for (Site& site : rewrite_.plan.sites) {
      for (const Argument* reader : site.readers) {
        for (const Argument* repeat : links.RepeatsOf(*reader)) {
          site.gradient_readers.push_back(repeat);
        }
      }
    }
    for (const Op& op : program_.ops()) {
      for (const Op* gradient : links.GradientsOf(op)) {
        rewrite_.plan.gradients.emplace_back(&op, gradient);
      }
    }
    rewrite_.plan.is_inference = !links.has_gradients();
  }

  const Program& program_;
  const QuantizerTable& quantizers_;
  FoundRewrite rewrite_;
  Parameters parameters_;
  absl::flat_hash_map<const Value*, const Value*> stands_for_;
  absl::flat_hash_map<std::pair<const Value*, std::string>, size_t> site_of_;
  absl::flat_hash_set<std::string> forward_types_;
};

}  // namespace

bool IsOfScaleTraining(const Op& op) {
  return StringAttr(op.desc(), kInsertedByAttr) == kTrainScalesPass;
}

absl::StatusOr<FoundRewrite> FindRewrite(const Program& program, const QuantizerTable& quantizers) {
  ASSIGN_OR_RETURN(const std::vector<QuantizationSite> sites,
                   FindQuantizationSites(program, quantizers));
  return RewriteFinder(program, quantizers).Find(sites);
}

}  // namespace fixpoint
