#include "transpiler/exchange/learned_ranges.h"

#include <glog/logging.h>

#include <optional>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/code_ops.h"
#include "ops/era.h"
#include "ops/never_negative.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "runtime/tensor.h"
#include "transpiler/exchange/before_quantizers.h"
#include "transpiler/exchange/op_thresholds.h"
#include "transpiler/freeze/folded_formulas.h"
#include "transpiler/freeze/site_codes.h"
#include "transpiler/freeze/weight_codes.h"
#include "transpiler/pipeline/edited_parameters.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/sites/quantization_sites.h"
#include "transpiler/sites/stored_scale.h"

namespace fixpoint {
namespace {

// The elements of a parameter as floats. Errors name the op that reads it.
absl::StatusOr<std::vector<float>> NumbersOf(const Argument& argument, const Scope& parameters) {
  const Scope::Value* const value = parameters.FindOrNull(argument.name());
  const Tensor* const tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
  std::vector<float> numbers;
  if (tensor != nullptr && tensor->dtype() == VarType::FP32) {
    const auto floats = tensor->data<float>();
    numbers.assign(floats.begin(), floats.end());
  } else if (tensor != nullptr && tensor->dtype() == VarType::INT32) {
    for (const int32_t number : tensor->data<int32_t>()) {
      numbers.push_back(static_cast<float>(number));
    }
  }
  if (!numbers.empty()) return numbers;
  return absl::NotFoundError(absl::StrCat(DescribeInFile(argument.op()),
                                          ": the parameters have no numbers \"", argument.name(),
                                          "\"; want those that the program was saved with"));
}

// A program with its quantization sites, and the values of its parameters.
struct SitesOfProgram {
  Program program;
  EditedParameters parameters;
  std::vector<QuantizationSite> sites;
};

// A copy in which the results of formulas are parameters. Its sites are those of the program, in
// the same order.
absl::StatusOr<SitesOfProgram> WithFoldedFormulas(const Program& program, const Scope& parameters,
                                                  const QuantizerTable& quantizers) {
  SitesOfProgram folded{program.Clone(), EditedParameters(&parameters), {}};
  std::vector<std::string> notes;
  RETURN_IF_ERROR(FoldFormulaOps("inspect_ranges", &folded.program, &folded.parameters, &notes));
  ASSIGN_OR_RETURN(folded.sites, FindQuantizationSites(folded.program, quantizers));
  return folded;
}

class RangeFinder {
 public:
  RangeFinder(const Program& program, const Scope& parameters, const QuantizerTable& quantizers)
      : program_(program),
        parameters_(parameters),
        quantizers_(quantizers),
        era_(EraOf(program)),
        never_negative_(era_),
        before_quantizers_(program) {}

  absl::StatusOr<std::vector<LearnedRange>> Find() {
    ASSIGN_OR_RETURN(const std::vector<QuantizationSite> sites,
                     FindQuantizationSites(program_, quantizers_));
    ASSIGN_OR_RETURN(const SitesOfProgram folded,
                     WithFoldedFormulas(program_, parameters_, quantizers_));
    CHECK_EQ(folded.sites.size(), sites.size());
    for (size_t i = 0; i < sites.size(); ++i) {
      RETURN_IF_ERROR(AddSite(sites[i], folded.sites[i], folded.parameters));
    }
    for (const Op& op : program_.ops()) RETURN_IF_ERROR(AddStoredCodes(op));
    for (const LearnedRange& range : ranges_) listed_.insert(range.value);
    for (const Op& op : program_.ops()) RETURN_IF_ERROR(AddObserved(op));
    if (ranges_.empty()) {
      return absl::FailedPreconditionError(
          "quantizes and observes nothing; want a program with quantizers, or a portable one");
    }
    return std::move(ranges_);
  }

 private:
  Parameters& weights() { return before_quantizers_.parameters(); }

  // `folded`: the same site where formulas are folded.
  absl::Status AddSite(const QuantizationSite& site, const QuantizationSite& folded,
                       const EditedParameters& parameters) {
    LearnedRange range;
    range.value = &before_quantizers_.BeforeFormula(*site.input->value());
    range.op = site.quantize;
    range.is_weight = weights().IsWeight(*range.value);
    range.quantizer = site.quantizer_name;
    range.codes = site.codes;
    range.is_affine = site.is_affine;
    if (!site.is_affine && never_negative_.Holds(*site.input->value())) range.codes.smallest = 0;
    range.axis = site.axis;
    if (!site.is_dynamic || weights().IsWeight(*folded.input->value())) {
      ASSIGN_OR_RETURN(const WeightCodesOptions options,
                       CodesOptionsOf(folded, parameters, quantizers_, era_));
      if (options.affine) {
        range.scales = {options.affine->step};
        range.zero_points = {options.affine->zero_point};
      } else if (!options.scales.empty()) {
        range.scales = options.scales;
      } else {
        RETURN_IF_ERROR(FindWeightRange(folded, parameters, options, range));
      }
    }
    ranges_.push_back(std::move(range));
    return absl::OkStatus();
  }

  static absl::Status FindWeightRange(const QuantizationSite& site,
                                      const EditedParameters& parameters,
                                      const WeightCodesOptions& options, LearnedRange& range) {
    const auto in_file = [&site](const absl::Status& status) {
      return absl::Status(status.code(),
                          absl::StrCat(DescribeInFile(*site.quantize), ": \"", site.input->name(),
                                       "\": ", status.message()));
    };
    const absl::string_view name = site.input->name();
    const bool is_computed = parameters.added.FindOrNull(name) != nullptr;
    const absl::StatusOr<const Tensor*> weight =
        (is_computed ? parameters.added : parameters.trained()).Find(name);
    if (!weight.ok()) return in_file(weight.status());
    const absl::StatusOr<WeightCodes> codes = MakeSiteCodes(site, **weight, options);
    if (!codes.ok()) return in_file(codes.status());
    const absl::Span<const float> scales = codes->scales.data<float>();
    range.scales.assign(scales.begin(), scales.end());
    if (!codes->zero_points) return absl::OkStatus();
    if (codes->zero_points->dtype() == VarType::FP32) {
      const absl::Span<const float> zero_points = codes->zero_points->data<float>();
      range.zero_points.assign(zero_points.begin(), zero_points.end());
      return absl::OkStatus();
    }
    for (const int32_t zero_point : codes->zero_points->data<int32_t>()) {
      range.zero_points.push_back(static_cast<float>(zero_point));
    }
    return absl::OkStatus();
  }

  // A weight whose codes a frozen program stores: an op takes them back.
  absl::Status AddStoredCodes(const Op& op) {
    const std::optional<CodeOp> read = ReadCodeOp(op, era_);
    if (!read || read->kind != QuantOp::kDequantize || read->only_observes) {
      return absl::OkStatus();
    }
    const Value* const codes = read->input->value();
    if (codes == nullptr || !weights().IsWeight(*codes) || read->scale == nullptr) {
      return absl::OkStatus();
    }
    LearnedRange range;
    range.value = codes;
    range.op = &op;
    range.is_weight = true;
    range.codes = read->codes;
    range.is_affine = read->scales_are_steps;
    range.axis = read->axis.value_or(-1);
    ASSIGN_OR_RETURN(range.scales, NumbersOf(*read->scale, parameters_));
    if (range.is_affine) {
      range.zero_points.assign(range.scales.size(), 0);
      if (read->zero_point != nullptr) {
        ASSIGN_OR_RETURN(range.zero_points, NumbersOf(*read->zero_point, parameters_));
      }
      if (range.zero_points.size() != range.scales.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(DescribeInFile(op), ": has ", range.zero_points.size(),
                         " zero points and ", range.scales.size(), " scales; want as many"));
      }
    }
    ranges_.push_back(std::move(range));
    return absl::OkStatus();
  }

  // What an observer saw, or what freezing an observer left.
  absl::Status AddObserved(const Op& op) {
    const QuantizerTable::Match observer = quantizers_.FindByObserveOp(op.type());
    const Argument* const scale =
        observer.recipe == nullptr ? nullptr : op.Output(observer.recipe->scale_output);
    const Argument* const observed = scale == nullptr ? nullptr : op.Input("X");
    if (observed != nullptr && scale->variable() != nullptr) {
      ASSIGN_OR_RETURN(const float range,
                       ReadRange(*scale->variable(), EditedParameters(&parameters_)));
      AddSeen(op, observed->value(), std::string(observer.quantizer->name()), range);
    }
    ASSIGN_OR_RETURN(const std::vector<OpThreshold> thresholds, ThresholdsOf(op));
    for (const OpThreshold& threshold : thresholds) {
      AddSeen(op, threshold.argument->value(), "", threshold.range);
    }
    return absl::OkStatus();
  }

  void AddSeen(const Op& op, const Value* value, std::string quantizer, float scale) {
    if (value == nullptr || !listed_.insert(value).second) return;
    LearnedRange range;
    range.value = value;
    range.op = &op;
    range.is_observed = true;
    range.quantizer = std::move(quantizer);
    range.codes = CodeRange{};
    if (never_negative_.Holds(*value)) range.codes.smallest = 0;
    range.scales = {scale};
    ranges_.push_back(std::move(range));
  }

  const Program& program_;
  const Scope& parameters_;
  const QuantizerTable& quantizers_;
  const Era era_;
  absl::flat_hash_set<const Value*> listed_;
  NeverNegative never_negative_;
  BeforeQuantizers before_quantizers_;
  std::vector<LearnedRange> ranges_;
};

}  // namespace

const std::string& LearnedRange::variable() const { return value->variable().name(); }

float LearnedRange::Step(size_t channel) const {
  return is_affine ? scales[channel] : scales[channel] / static_cast<float>(codes.largest);
}

float LearnedRange::Smallest(size_t channel) const {
  if (is_affine || is_observed || codes.smallest >= -codes.largest) return Min(channel);
  return static_cast<float>(static_cast<double>(scales[channel]) * codes.smallest / codes.largest);
}

float LearnedRange::Min(size_t channel) const {
  if (is_affine) {
    return (static_cast<float>(codes.smallest) - zero_points[channel]) * scales[channel];
  }
  return codes.smallest < 0 ? -scales[channel] : 0;
}

float LearnedRange::Max(size_t channel) const {
  if (!is_affine) return scales[channel];
  return (static_cast<float>(codes.largest) - zero_points[channel]) * scales[channel];
}

absl::StatusOr<std::vector<LearnedRange>> FindLearnedRanges(const Program& program,
                                                            const Scope& parameters,
                                                            const QuantizerTable& quantizers) {
  return RangeFinder(program, parameters, quantizers).Find();
}

absl::Status CheckAllAreKept(const std::vector<LearnedRange>& ranges) {
  for (const LearnedRange& range : ranges) {
    if (!range.scales.empty()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeInFile(*range.op), ": finds the range of \"", range.variable(),
        "\" anew at every run, so there is none to write; want a quantizer that keeps one "
        "(moving_average_abs_max, range_abs_max)"));
  }
  return absl::OkStatus();
}

}  // namespace fixpoint
