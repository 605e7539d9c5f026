#include "tests/random/programs/coverage.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "ops/epilogue.h"
#include "ops/epilogue_attributes.h"
#include "ops/op_traits.h"
#include "ops/quantizers/power_of_two_steps.h"
#include "proto/program/attributes.h"
#include "transpiler/lower/lower.h"
#include "transpiler/report/lowering_account.h"

namespace fixpoint::random_cases {
namespace {

constexpr char kOnIntegers[] = "ops on integers";

void AddSpec(const char* what, const QuantSpec& spec, std::set<std::string>* found) {
  found->insert(absl::StrCat(what, " of ", spec.bits(), " bits"));
  found->insert(absl::StrCat(what, spec.scheme() == QuantSpec::AFFINE ? " affine" : " symmetric"));
  found->insert(
      absl::StrCat(what, spec.signedness() == QuantSpec::UNSIGNED ? " unsigned" : " signed"));
  found->insert(absl::StrCat(
      what, spec.granularity() == QuantSpec::PER_CHANNEL ? " per channel" : " per tensor"));
  found->insert(absl::StrCat(
      what, spec.rounding() == QuantSpec::HALF_TO_EVEN ? " half to even" : " half away from zero"));
  found->insert(absl::StrCat(what, " by ", spec.quantizer()));
  if (spec.parameters().contains(kPowerOfTwoStepsAttr)) {
    found->insert(absl::StrCat(what, " in steps of powers of two"));
  }
}

std::vector<std::string> WaysToQuantize() {
  std::vector<std::string> categories = {kOnIntegers,
                                         "biases in int32",
                                         "biases in int32 beside zero points",
                                         "biases as floats",
                                         "release 1.x",
                                         "release 2.x",
                                         "fused quantizers",
                                         "observed outputs",
                                         "activations affine",
                                         "activations symmetric",
                                         "activations unsigned",
                                         "activations signed",
                                         "weights affine",
                                         "weights symmetric",
                                         "weights per channel",
                                         "weights per tensor"};
  for (const char* what : {"activations", "weights"}) {
    for (int bits = 2; bits <= 8; ++bits) {
      categories.push_back(absl::StrCat(what, " of ", bits, " bits"));
    }
    categories.push_back(absl::StrCat(what, " half to even"));
    categories.push_back(absl::StrCat(what, " half away from zero"));
    categories.push_back(absl::StrCat(what, " in steps of powers of two"));
  }
  return categories;
}

std::vector<std::string> KindsOfOps() {
  std::vector<std::string> categories;
  for (const char* quantizer : {"moving_average_abs_max", "range_abs_max", "window_mean_abs_max",
                                "moving_average_min_max", "fixed_abs_max", "lsq"}) {
    categories.push_back(absl::StrCat("activations by ", quantizer));
  }
  for (const char* quantizer : {"abs_max", "channel_wise_abs_max", "row_wise_min_max",
                                "moving_average_min_max", "lsq", "channel_wise_lsq"}) {
    categories.push_back(absl::StrCat("weights by ", quantizer));
  }
  for (const char* op : {"conv2d",
                         "depthwise_conv2d",
                         "conv2d_transpose",
                         "depthwise_conv2d_transpose",
                         "mul",
                         "matmul",
                         "matmul_v2",
                         "fc",
                         "elementwise_add",
                         "elementwise_mul",
                         "relu",
                         "relu6",
                         "leaky_relu",
                         "hard_swish",
                         "sigmoid",
                         "tanh",
                         "pool2d",
                         "concat",
                         "batch_norm",
                         "reshape2",
                         "transpose2"}) {
    categories.emplace_back(op);
  }
  for (const char* op :
       {"integer_conv2d", "integer_conv2d_transpose", "integer_mul", "integer_matmul",
        "integer_row_wise_fc", "integer_average_pool2d", "integer_elementwise_mul",
        "integer_quantize", "integer_dequantize", "integer_add", "integer_table"}) {
    categories.emplace_back(op);
  }
  using Kind = EpilogueStage::Kind;
  for (const Kind kind :
       {Kind::kAddChannel, Kind::kMultiplyChannel, Kind::kAddElement, Kind::kAddInt8,
        Kind::kAddUint8, Kind::kMultiply, Kind::kAdd, Kind::kRound, Kind::kRelu, Kind::kLeakyRelu,
        Kind::kHardSwish, Kind::kClip, Kind::kRequantize}) {
    categories.push_back(absl::StrCat("epilogues that ", StageName(kind)));
  }
  return categories;
}

std::vector<std::string> Missing(const std::vector<std::string>& categories,
                                 const Coverage& coverage) {
  std::vector<std::string> missing;
  for (const std::string& category : categories) {
    const auto found = coverage.find(category);
    if (found == coverage.end() || found->second == 0) missing.push_back(category);
  }
  return missing;
}

}  // namespace

Coverage CoverageOf(const ProgramDesc& forward, const QuantPlan& plan,
                    const LoweredModel& lowered) {
  std::set<std::string> found;
  found.insert(forward.version().version() < 2000000 ? "release 1.x" : "release 2.x");
  for (const OpDesc& op : forward.blocks(0).ops()) found.insert(op.type());
  for (const QuantPlan::Site& site : plan.sites()) {
    if (site.observe()) {
      found.insert("observed outputs");
    } else if (site.role() == SlotRole::BIAS) {
      found.insert("biases in int32");
    } else {
      AddSpec(site.role() == SlotRole::WEIGHT ? "weights" : "activations", site.spec(), &found);
      if (site.spec().form() == QuantSpec::FUSED) found.insert("fused quantizers");
    }
  }
  for (const Op& op : lowered.program.block(0).ops()) {
    if (!IsOnIntegers(op)) continue;
    found.insert(std::string(op.type()));
    // Beside zero points of channels, biases of floats are rounded to int32 too.
    const bool has_zero_point = IntAttr(op.desc(), "input_zero_point").value_or(0) != 0 ||
                                IntAttr(op.desc(), "weight_zero_point").value_or(0) != 0;
    if (op.Input("Bias") != nullptr && op.Input("Offsets") == nullptr && has_zero_point) {
      found.insert("biases in int32 beside zero points");
    }
    const auto epilogue = EpilogueOf(op.desc());
    if (!epilogue.ok()) continue;
    bool multiplies = false;
    for (const EpilogueStage& stage : *epilogue) {
      found.insert(absl::StrCat("epilogues that ", StageName(stage.kind)));
      multiplies |= stage.kind == EpilogueStage::Kind::kMultiplyChannel;
      if (stage.kind == EpilogueStage::Kind::kAddChannel && !multiplies) {
        found.insert("biases as floats");
      }
    }
  }
  Coverage coverage;
  for (const std::string& category : found) coverage[category] = 1;
  coverage[kOnIntegers] = MakeLoweringAccount(lowered.ops).integers;
  return coverage;
}

void AddCoverage(const Coverage& of_case, Coverage* all) {
  for (const auto& [category, count] : of_case) (*all)[category] += count;
}

std::vector<std::string> MissingOf100(const Coverage& coverage) {
  return Missing(WaysToQuantize(), coverage);
}

std::vector<std::string> MissingOf1000(const Coverage& coverage) {
  std::vector<std::string> missing = MissingOf100(coverage);
  for (std::string& category : Missing(KindsOfOps(), coverage)) {
    missing.push_back(std::move(category));
  }
  return missing;
}

}  // namespace fixpoint::random_cases
