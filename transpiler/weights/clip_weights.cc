#include "transpiler/weights/clip_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/channel_view.h"
#include "runtime/statistics/weight_ranges.h"
#include "runtime/tensor.h"
#include "transpiler/sites/quantization_sites.h"

namespace fixpoint {
namespace {

// Why the elements of a weight do not decide its range; "": they do.
std::string WhyNotFound(const QuantizationSite* site) {
  if (site == nullptr) return "no quantizer reads it";
  if (site->input->variable()->arguments().size() > 1) return "something else reads it too";
  if (!site->is_dynamic || site->quantizer == nullptr) {
    return "its quantizer keeps a range; want one that finds it, such as abs_max";
  }
  return "";
}

// Returns how many elements it clips.
int64_t Clip(const ChannelView& channels, const std::vector<ValueRange>& ranges,
             absl::Span<float> elements) {
  int64_t clipped = 0;
  for (int64_t c = 0; c < channels.channels; ++c) {
    channels.ForEachRun(elements, c, [&](absl::Span<float> run) {
      for (float& element : run) {
        const float held = std::clamp(element, ranges[c].min, ranges[c].max);
        if (held < element || held > element) ++clipped;
        element = held;
      }
    });
  }
  return clipped;
}

}  // namespace

bool HasRangeRule(const QuantPlan::Site& site) {
  return site.role() == SlotRole::WEIGHT && site.spec().range_rule() != QuantSpec::MIN_MAX;
}

absl::StatusOr<std::vector<ClippedWeight>> ClipWeights(const Program& simulated,
                                                       const QuantPlan& plan,
                                                       const QuantizerTable& quantizers,
                                                       Scope* parameters) {
  std::vector<ClippedWeight> weights;
  if (std::none_of(plan.sites().begin(), plan.sites().end(), HasRangeRule)) return weights;
  ASSIGN_OR_RETURN(const std::vector<QuantizationSite> sites,
                   FindQuantizationSites(simulated, quantizers));
  absl::flat_hash_map<std::string, const QuantizationSite*> by_variable;
  for (const QuantizationSite& site : sites) by_variable.emplace(site.input->name(), &site);
  for (const QuantPlan::Site& planned : plan.sites()) {
    if (!HasRangeRule(planned)) continue;
    ClippedWeight& weight = weights.emplace_back();
    weight.variable = planned.value().variable();
    const auto found = by_variable.find(weight.variable);
    const QuantizationSite* const site = found == by_variable.end() ? nullptr : found->second;
    weight.why_not = WhyNotFound(site);
    if (!weight.why_not.empty()) continue;
    const Scope::Value* const value = parameters->FindOrNull(weight.variable);
    const Tensor* const tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    if (tensor == nullptr || tensor->dtype() != VarType::FP32 ||
        site->axis >= static_cast<int>(tensor->dims().size())) {
      weight.why_not = "no parameter of floats holds it";
      continue;
    }
    const absl::Span<const float> elements = tensor->data<float>();
    const auto is_finite = [](float element) { return std::isfinite(element); };
    if (!std::all_of(elements.begin(), elements.end(), is_finite)) {
      weight.why_not = "it has elements that are not finite";
      continue;
    }
    ASSIGN_OR_RETURN(Tensor clipped, tensor->Clone());
    const ChannelView channels(tensor->dims(), site->axis);
    weight.elements = tensor->size();
    weight.clipped = Clip(channels, WeightRanges(elements, channels, planned.spec()),
                          clipped.mutable_data<float>());
    parameters->Set(weight.variable, std::move(clipped));
  }
  return weights;
}

std::vector<std::string> NotesOnClipping(const std::vector<ClippedWeight>& weights) {
  std::vector<std::string> notes;
  int64_t elements = 0;
  int64_t clipped = 0;
  std::vector<const ClippedWeight*> left;
  for (const ClippedWeight& weight : weights) {
    elements += weight.elements;
    clipped += weight.clipped;
    if (!weight.why_not.empty()) left.push_back(&weight);
  }
  if (elements > 0) {
    notes.push_back(absl::StrFormat("weights clipped by their range_rule: %d, %.3g %% of elements",
                                    weights.size() - left.size(),
                                    100 * static_cast<double>(clipped) / elements));
  }
  if (!left.empty()) {
    notes.push_back(absl::StrCat("weights whose range_rule is not followed: ", left.size(),
                                 ", the first is ", left[0]->variable, ": ", left[0]->why_not));
  }
  return notes;
}

}  // namespace fixpoint
