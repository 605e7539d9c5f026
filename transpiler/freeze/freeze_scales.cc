// freeze_scales: the ranges of activations become parameters, and their quantizers the portable
// ops. For a separate and for a fused quantizer:
//
//   fake_quantize_moving_average_abs_max(InScale=s, X=x) -> (Out=q, OutScale=s) {is_test=true}
//   fake_dequantize_max_abs(Scale=s, X=q) -> (Out=d) {max_range=127.0}
//   fake_quantize_dequantize_moving_average_abs_max(InScale=t, X=y) -> (Out=e, OutScale=t)
//
//   quantize_linear(Scale=s, X=x, ZeroPoint=s.zero_point) -> (Y=q) {round_type=1, ...}
//   dequantize_linear(Scale=s, X=q, ZeroPoint=s.zero_point) -> (Y=d) {...}
//   quantize_linear(Scale=t, X=y, ZeroPoint=t.zero_point) -> (Y=y.quantized) {round_type=1, ...}
//   dequantize_linear(Scale=t, X=y.quantized, ZeroPoint=t.zero_point) -> (Y=e) {...}
//
// Affine quantizers keep their ops, which read scale and zero point as parameters already, but for
// a fused one:
//
//   fake_quantize_dequantize_affine(X=x, InScale=s, InZeroPoint=z) -> (Out=d)
//
//   fake_quantize_moving_average_min_max(X=x, InScale=s, InZeroPoint=z) -> (
//       Out=q, OutScale=s, OutZeroPoint=z) {is_test=true}
//   fake_dequantize_affine(X=q, Scale=s, ZeroPoint=z) -> (Out=d)

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/era.h"
#include "proto/base/status_macros.h"
#include "proto/program/program.h"
#include "proto/program/rewriter.h"
#include "transpiler/freeze/freeze_context.h"
#include "transpiler/freeze/linear_ops.h"
#include "transpiler/freeze/site_codes.h"
#include "transpiler/pipeline/captures.h"
#include "transpiler/pipeline/parameter_writer.h"
#include "transpiler/pipeline/uses.h"
#include "transpiler/plan/parameters.h"
#include "transpiler/sites/quantization_sites.h"
#include "transpiler/sites/stored_scale.h"

namespace fixpoint {
namespace {

class ScaleFreezer {
 public:
  ScaleFreezer(Program* program, FreezeContext* context, absl::string_view pass)
      : program_(*program),
        context_(*context),
        pass_(pass),
        rewriter_(program, pass),
        parameters_(*program, &context->parameters, &rewriter_) {}

  absl::Status FreezeAll() {
    ASSIGN_OR_RETURN(const std::vector<QuantizationSite> sites,
                     FindQuantizationSites(program_, context_.quantizers));
    Parameters weights;
    for (const QuantizationSite& site : sites) {
      if (!weights.IsWeight(*site.input->value())) RETURN_IF_ERROR(Freeze(site));
    }
    RETURN_IF_ERROR(CheckReads(program_));
    UpdateCaptures(program_, &rewriter_);
    if (affine_ > 0) {
      context_.notes.push_back(absl::StrCat(
          "affine quantizers, which keep ops that the reference cannot run: ", affine_));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Freeze(const QuantizationSite& site) {
    if (site.is_dynamic) return CheckDynamic(site);
    if (site.axis != -1) {
      return absl::UnimplementedError(
          absl::StrCat(DescribeInFile(*site.quantize), ": the activation \"", site.input->name(),
                       "\" has a range for each channel; want one for all of it"));
    }
    ASSIGN_OR_RETURN(const StoredScale scale,
                     FindStoredScale(*site.scale, context_.parameters, context_.quantizers));
    if (scale.value == 0) {
      // Without its position in the block, which takes time linear in the block to count.
      context_.notes.push_back(absl::StrCat(
          "block ", site.quantize->block().index(), ", ", site.quantize->type(),
          ": the scale of \"", site.input->name(), "\" is 0, so that all of it is quantized to 0"));
    }
    if (site.is_affine) {
      ++affine_;
      const bool is_split = site.fused && context_.form == FrozenForm::kPortable;
      return is_split ? SplitAffine(site) : absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string name, ParameterOf(site, scale));
    const Variable& parameter = *program_.Find(program_.block(0), name);
    RETURN_IF_ERROR(rewriter_.RedirectReads(ScalesOfSums(site), parameter));
    if (context_.form == FrozenForm::kPortable) return WritePortable(site, name);
    return KeepReading(site, parameter);
  }

  absl::Status SplitAffine(const QuantizationSite& site) {
    // That what it reads are parameters, with a zero point that is a code.
    RETURN_IF_ERROR(
        FindStoredAffine(site, context_.parameters, context_.quantizers, EraOf(program_)).status());
    const absl::string_view step = site.scale->name();
    const absl::string_view zero_point = FindCodeArguments(*site.quantize).zero_point->name();
    ASSIGN_OR_RETURN(const std::string codes, DeclareCodes(site));
    rewriter_.InsertBefore(*site.quantize, InPlaceOf(*site.quantize, pass_,
                                                     MakeQuantizeAffine(site, site.input->name(),
                                                                        step, zero_point, codes)));
    rewriter_.InsertBefore(*site.quantize, InPlaceOf(*site.quantize, pass_,
                                                     MakeDequantizeAffine(codes, step, zero_point,
                                                                          site.result->name())));
    rewriter_.Remove(*site.quantize);
    return absl::OkStatus();
  }

  // The site's ops stay, and read the parameter.
  absl::Status KeepReading(const QuantizationSite& site, const Variable& parameter) {
    const Variable* old = site.scale->variable();
    if (old == &parameter) return absl::OkStatus();
    std::vector<const Argument*> reads;
    for (const Op* op : site.ops()) {
      for (const Argument* input : op->inputs()) {
        if (input->variable() == old) reads.push_back(input);
      }
      // In test mode the op passes on what it reads.
      for (const Argument* output : op->outputs()) {
        if (output->variable() == old) rewriter_.SetArgument(*output, parameter.name());
      }
    }
    return rewriter_.RedirectReads(reads, parameter);
  }

  absl::Status CheckDynamic(const QuantizationSite& site) const {
    if (context_.allow_dynamic) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        DescribeInFile(*site.quantize), ": finds the range of \"", site.input->name(),
        "\" anew at every run, so there is none to freeze; train with a quantizer that keeps one "
        "(moving_average_abs_max, range_abs_max), or allow dynamic ranges (--allow_dynamic)"));
  }

  absl::StatusOr<std::string> ParameterOf(const QuantizationSite& site, const StoredScale& scale) {
    if (scale.variable != nullptr) return scale.variable->name();
    // Quantizers that share a scale share its parameter.
    std::string& name = computed_[{site.scale->variable(), scale.value}];
    if (name.empty()) {
      ASSIGN_OR_RETURN(name, parameters_.Add(absl::StrCat(site.input->name(), ".scale"),
                                             Tensor::FromValues<float>({1}, {scale.value})));
    }
    return name;
  }

  absl::Status WritePortable(const QuantizationSite& site, const std::string& scale) {
    ASSIGN_OR_RETURN(const std::string zero_point, parameters_.ZeroPointOf(scale));
    std::string codes(site.result->name());
    if (site.fused) {
      ASSIGN_OR_RETURN(codes, DeclareCodes(site));
      rewriter_.InsertAfter(
          *site.quantize,
          InPlaceOf(*site.quantize, pass_,
                    MakeDequantizeLinear(site, codes, scale, zero_point, site.result->name())));
    }
    rewriter_.InsertBefore(*site.quantize, InPlaceOf(*site.quantize, pass_,
                                                     MakeQuantizeLinear(site, site.input->name(),
                                                                        scale, zero_point, codes)));
    for (const Op* op : site.dequantize) {
      const Argument* out = op->outputs().front();
      rewriter_.InsertBefore(
          *op,
          InPlaceOf(*op, pass_, MakeDequantizeLinear(site, codes, scale, zero_point, out->name())));
    }
    for (const Op* op : site.ops()) rewriter_.Remove(*op);
    return absl::OkStatus();
  }

  // A variable like the one that the fused op writes.
  absl::StatusOr<std::string> DeclareCodes(const QuantizationSite& site) {
    VarDesc desc = *site.result->variable()->desc();
    desc.set_name(rewriter_.FreshName(absl::StrCat(site.input->name(), ".quantized")));
    std::string name = desc.name();
    RETURN_IF_ERROR(
        rewriter_.AddVariable(site.result->variable()->block(), std::move(desc)).status());
    return name;
  }

  Program& program_;
  FreezeContext& context_;
  const absl::string_view pass_;
  Rewriter rewriter_;
  ParameterWriter parameters_;
  absl::flat_hash_map<std::pair<const Variable*, float>, std::string> computed_;
  int affine_ = 0;
};

class FreezeScales final : public StagePass<FreezeContext> {
 public:
  absl::string_view name() const override { return "freeze_scales"; }
  absl::string_view doc() const override {
    return "Turns the ranges of activations into parameters that nothing computes any more.";
  }
  std::vector<std::string> Requires() const override {
    return {"test_mode", "observers_frozen", "trained_parameters"};
  }
  std::vector<std::string> Establishes() const override { return {"scales_frozen"}; }
  // A range that an activation shares with a weight is found by the weight's quantizer.
  std::vector<std::string> ComesBefore() const override { return {"weights_quantized"}; }
  // Ops that computed a range that is now a parameter are left over.
  std::vector<std::string> Consumes() const override { return {"pruned"}; }

  absl::Status RunIn(Program& program, FreezeContext& context) const override {
    return ScaleFreezer(&program, &context, name()).FreezeAll();
  }
};

}  // namespace

std::unique_ptr<Pass> MakeFreezeScales() { return std::make_unique<FreezeScales>(); }

}  // namespace fixpoint
