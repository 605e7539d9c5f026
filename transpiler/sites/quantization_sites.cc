#include "transpiler/sites/quantization_sites.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "ops/code_ops.h"
#include "ops/op_schema.h"
#include "ops/requantization.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"

namespace fixpoint {
namespace {

bool IsDequantize(const Op& op, const QuantizerTable& quantizers) {
  if (op.type() == kDequantizeLinear) return true;
  for (const auto& quantizer : quantizers.all()) {
    for (const QuantizerRecipe& recipe : quantizer->recipes()) {
      if (recipe.dequantize_op == op.type()) return true;
    }
  }
  return false;
}

class SiteFinder {
 public:
  SiteFinder(const Program& program, const QuantizerTable& quantizers)
      : program_(program), quantizers_(quantizers), era_(EraOf(program)) {}

  absl::StatusOr<std::vector<QuantizationSite>> Find() const {
    std::vector<QuantizationSite> sites;
    for (const Op& op : program_.ops()) {
      if (!IsQuantize(op, quantizers_) || OnlyObserves(op)) continue;
      ASSIGN_OR_RETURN(QuantizationSite site, SiteOf(op));
      sites.push_back(std::move(site));
    }
    return sites;
  }

 private:
  bool OnlyObserves(const Op& op) const {
    const std::optional<CodeOp> read = ReadCodeOp(op, era_);
    return read && read->only_observes;
  }

  absl::StatusOr<QuantizationSite> SiteOf(const Op& op) const {
    const QuantizerTable::Match match = quantizers_.FindByQuantizeOp(op.desc());
    QuantizationSite site;
    site.quantize = &op;
    const CodeArguments arguments = FindCodeArguments(op);
    ASSIGN_OR_RETURN(site.input, Wanted(op, arguments.input, "input X"));
    ASSIGN_OR_RETURN(site.result, Wanted(op, arguments.output, "output Out or Y"));
    ASSIGN_OR_RETURN(site.codes, Named(op, ReadCodeRange(op.desc(), era_)));

    if (match.recipe == nullptr) {
      ASSIGN_OR_RETURN(site.axis, Named(op, ReadChannelAxis(op.desc(), era_)));
      site.is_dynamic = site.axis != -1;
      ASSIGN_OR_RETURN(site.scale, Wanted(op, arguments.scale, "input Scale"));
    } else {
      const Quantizer& quantizer = *match.quantizer;
      ASSIGN_OR_RETURN(site.axis, Named(op, ReadChannelAxis(op.desc(), era_)));
      site.quantizer = &quantizer;
      const OpDesc::Attr* const named = op.FindAttr(kQuantizerAttr);
      site.quantizer_name = named == nullptr ? std::string(quantizer.name()) : named->s();
      site.is_dynamic = quantizer.is_dynamic();
      if (site.is_dynamic) quantizer.ReadParameters(op.desc(), &site.parameters);
      site.is_affine = quantizer.scheme() == QuantSpec::AFFINE;
      site.fused = match.recipe->dequantize_op.empty();
      ASSIGN_OR_RETURN(site.scale, ScaleOf(op, *match.recipe, site.is_dynamic));
    }
    if (!site.fused) RETURN_IF_ERROR(FindDequantizeOps(site));
    return site;
  }

  static absl::StatusOr<const Argument*> ScaleOf(const Op& op, const QuantizerRecipe& recipe,
                                                 bool is_dynamic) {
    if (!recipe.scale_input.empty()) {
      return Wanted(op, op.Input(recipe.scale_input), absl::StrCat("input ", recipe.scale_input));
    }
    for (const QuantizerState& state : recipe.state) {
      if (!state.is_scale || is_dynamic) continue;
      return Wanted(op, op.Input(state.input), absl::StrCat("input ", state.input));
    }
    return Wanted(op, op.Output(recipe.scale_output), absl::StrCat("output ", recipe.scale_output));
  }

  // The argument, if it is a variable; `slot` is "input X".
  static absl::StatusOr<const Argument*> Wanted(const Op& op, const Argument* argument,
                                                absl::string_view slot) {
    if (argument != nullptr && argument->variable() != nullptr) return argument;
    return absl::InvalidArgumentError(
        absl::StrCat(DescribeInFile(op), ": wants one variable in ", slot));
  }

  // The error, with the op in front of its message.
  template <typename T>
  static absl::StatusOr<T> Named(const Op& op, absl::StatusOr<T> read) {
    if (read.ok()) return read;
    return absl::Status(read.status().code(),
                        absl::StrCat(DescribeInFile(op), ": ", read.status().message()));
  }

  absl::Status FindDequantizeOps(QuantizationSite& site) const {
    for (const Argument* reader : site.result->value()->readers()) {
      const Op& op = reader->op();
      if (!IsDequantize(op, quantizers_) || reader->slot_name() != "X") {
        return absl::FailedPreconditionError(
            absl::StrCat(DescribeInFile(op), ": reads \"", reader->name(), "\", the codes of ",
                         DescribeInFile(*site.quantize), "; want a dequantize op between them"));
      }
      if (FindCodeArguments(op).input != reader) {
        return absl::InvalidArgumentError(absl::StrCat(
            DescribeInFile(op), ": has ", op.Inputs("X").size(),
            " variables in input X; want one, the codes of ", DescribeInFile(*site.quantize)));
      }
      RETURN_IF_ERROR(CheckDequantizeOp(site, op));
      site.dequantize.push_back(&op);
    }
    return absl::OkStatus();
  }

  absl::Status CheckDequantizeOp(const QuantizationSite& site, const Op& op) const {
    if (op.outputs().size() != 1 || op.outputs().front()->variable() == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          DescribeInFile(op), ": has ", op.outputs().size(), " outputs; want one variable"));
    }
    const Argument* const scale = FindCodeArguments(op).scale;
    if (scale == nullptr || scale->variable() != site.scale->variable()) {
      return absl::FailedPreconditionError(
          absl::StrCat(DescribeInFile(op), ": takes codes of ", DescribeInFile(*site.quantize),
                       " back at another scale than \"", site.scale->name(), "\""));
    }
    RETURN_IF_ERROR(CheckDequantizeAttrs(site, op));
    const auto largest = static_cast<double>(site.codes.largest);
    ASSIGN_OR_RETURN(const double range,
                     Named(op, ReadLargestCode(op.desc(), era_, site.codes.largest)));
    if (range == largest) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(DescribeInFile(op), ": divides by ", range,
                                                      " codes of ", DescribeInFile(*site.quantize),
                                                      ", the largest of which is ", largest));
  }

  absl::Status CheckDequantizeAttrs(const QuantizationSite& site, const Op& op) const {
    const auto misfit = [&](absl::string_view attribute, int value, int wanted) {
      return absl::FailedPreconditionError(
          absl::StrCat(Describe(op), ": ", attribute, " is ", value, "; want ", wanted,
                       ", that of the codes of ", Describe(*site.quantize)));
    };
    if (OnlyObserves(op)) {
      return absl::FailedPreconditionError(absl::StrCat(
          Describe(op), ": only observes, so that \"", op.outputs().front()->name(),
          "\" holds the codes of ", Describe(*site.quantize), "; want both to observe, or none"));
    }
    ASSIGN_OR_RETURN(const int bits, Named(op, ReadBits(op.desc(), era_, site.codes.bits)));
    if (bits != site.codes.bits) return misfit("bit_length", bits, site.codes.bits);
    ASSIGN_OR_RETURN(const int axis, Named(op, ReadChannelAxis(op.desc(), era_)));
    if (axis != site.axis) return misfit("quant_axis", axis, site.axis);
    return absl::OkStatus();
  }

  const Program& program_;
  const QuantizerTable& quantizers_;
  const Era era_;
};

}  // namespace

std::vector<const Op*> QuantizationSite::ops() const {
  std::vector<const Op*> ops = {quantize};
  ops.insert(ops.end(), dequantize.begin(), dequantize.end());
  return ops;
}

std::vector<const Argument*> ScalesOfSums(const QuantizationSite& site) {
  // Ops before the quantize op read what it reads. It passes that on, or ops after it read the
  // same.
  std::vector<const Value*> values = {site.scale->value()};
  for (const Argument* output : site.quantize->outputs()) {
    const bool passes_on = output->variable() == site.scale->variable();
    if (passes_on && output->value() != values.front()) values.push_back(output->value());
  }
  std::vector<const Argument*> scales;
  for (const Value* value : values) {
    if (value == nullptr) continue;
    for (const Argument* reader : value->readers()) {
      const std::string& type = reader->op().type();
      if (type == kQuantizeBias || type == kRequantize) scales.push_back(reader);
    }
  }
  return scales;
}

bool IsQuantize(const Op& op, const QuantizerTable& quantizers) {
  return op.type() == kQuantizeLinear || quantizers.FindByQuantizeOp(op.desc()).recipe != nullptr;
}

bool FindsItsRange(const Op& op, const QuantizerTable& quantizers) {
  if (op.type() == kQuantizeLinear) {
    const absl::StatusOr<int> axis = ReadChannelAxis(op.desc(), Era::kPaddle2);
    return axis.ok() && *axis != -1;
  }
  const QuantizerTable::Match match = quantizers.FindByQuantizeOp(op.desc());
  return match.recipe != nullptr && match.quantizer->is_dynamic() && !match.recipe->has_is_test;
}

absl::StatusOr<std::vector<QuantizationSite>> FindQuantizationSites(
    const Program& program, const QuantizerTable& quantizers) {
  return SiteFinder(program, quantizers).Find();
}

std::string WhyFrozen(const Program& program, const QuantizerTable& quantizers) {
  for (const Op& op : program.ops()) {
    if (!IsDequantize(op, quantizers)) continue;
    const Argument* const codes = FindCodeArguments(op).input;
    if (codes == nullptr || codes->value() == nullptr) continue;
    const Value& value = *codes->value();
    if (value.origin() == Value::Origin::kWrite && IsQuantize(*value.op(), quantizers)) continue;
    return absl::StrCat(DescribeInFile(op), " dequantizes \"", std::string(codes->name()),
                        "\", which no quantize op computes");
  }
  return "";
}

}  // namespace fixpoint
