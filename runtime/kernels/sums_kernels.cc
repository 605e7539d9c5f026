#include "runtime/kernels/sums_kernels.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "runtime/kernels/depthwise_convolution.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/epilogue_post_ops.h"
#include "runtime/kernels/folded_epilogue.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/one_channel_convolution.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/onednn_sums.h"
#include "runtime/kernels/paired_sums.h"
#include "runtime/kernels/small_product.h"
#include "runtime/kernels/sum_parts.h"
#include "runtime/kernels/tiled_convolution.h"
#include "runtime/kernels/two_pass_sums.h"

namespace fixpoint::kernels {
namespace {

// The products of a sum below which sums have few, and some.
constexpr int64_t kFew = 32;
constexpr int64_t kSome = 128;

bool Always() { return true; }
bool FitsAll(const SumsProblem& /*problem*/) { return true; }

constexpr bool kWeightZeroPoints = true;
constexpr bool kNoWeightZeroPoints = false;

// Exact instructions were measured with AVX-512. Where no sums of a kind were, those of the next.
constexpr RatesBesideFloats Exact(const RatesOfKinds& rates) { return {rates, rates, rates}; }

constexpr RatesBesideFloats kRatesOfPairs = {
    {{}, {1.25, 0.89, 1.36, 1.88}, {1.32, 0.91, 1.36, 1.83}}};
constexpr RatesBesideFloats kRatesOfPairsInTwoPasses = {
    {{}, {0.66, 0.32, 0.76, 1.55}, {0.90, 0.77, 0.99, 1.77}}};
constexpr RatesBesideFloats kRatesOfSumsOfFloats = {
    {{0.46, 0.52, 0.64, 0.87}, {0.48, 0.30, 0.53, 0.80}, {0.75, 0.69, 0.71, 0.90}}};

constexpr SumsKernel kKernels[] = {
    {"small product", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForSmallProduct, 2.4, Exact({4.1, 4.1, 4.1, 4.0}),
     PlanSmallProduct},
    {"one channel", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForOneChannel, 1.6, Exact({1.15, 1.15, 1.15, 1.15}),
     PlanOneChannelConvolution},
    {"depthwise", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForDepthwise, 1.17, Exact({1.77, 1.77, 1.77, 1.77}),
     PlanDepthwiseConvolution},
    {"tiles", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kFoldedToCodes, IsForTiles, 1.09, Exact({1.67, 1.67, 4.1, 3.5}),
     PlanTiledConvolution},
    {"tiles of parts", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kFoldedToCodes, IsForTilesOfParts, 1.03, Exact({1.95, 1.95, 2.8, 4.0}),
     PlanTiledConvolution},
    {"oneDNN", HasExactIntegerProducts, kNoWeightZeroPoints, BiasAddition::kNone,
     EpilogueGrammar::kPostOps, FitsAll, 1, Exact({1.46, 1.17, 2.5, 3.3}), PlanOnednnSums},
    {"oneDNN, float bias", HasExactIntegerProducts, kNoWeightZeroPoints, BiasAddition::kFloat,
     EpilogueGrammar::kPostOps, FitsAll, 0.94, Exact({1.38, 1.06, 2.3, 3.0}), PlanOnednnSums},
    {"oneDNN in two passes", HasExactIntegerProducts, kWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, FitsAll, 0.9, Exact({1.26, 0.95, 2.0, 3.2}), PlanTwoPassSums},
    {"pairs", AddsPairsOfProducts, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kNoRequantization, IsForPairs, 0.62, kRatesOfPairs, PlanPairedSums},
    {"pairs in two passes", AddsPairsOfProducts, kWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForPairs, 0.54, kRatesOfPairsInTwoPasses, PlanPairsInTwoPasses},
    {"floats", Always, kWeightZeroPoints, BiasAddition::kInteger, EpilogueGrammar::kAnyStages,
     FitsAll, 0.32, kRatesOfSumsOfFloats, PlanSumsOfFloats},
};

bool Requantizes(const Epilogue& epilogue) {
  return std::any_of(epilogue.begin(), epilogue.end(), [](const EpilogueStage& stage) {
    return stage.kind == EpilogueStage::Kind::kRequantize;
  });
}

bool TakesEpilogue(EpilogueGrammar grammar, const SumsProblem& problem) {
  switch (grammar) {
    case EpilogueGrammar::kAnyStages:
      return true;
    case EpilogueGrammar::kNoRequantization:
      return !Requantizes(problem.epilogue);
    case EpilogueGrammar::kPostOps:
      return problem.epilogue.size() <= kMostPostOps && !Requantizes(problem.epilogue);
    case EpilogueGrammar::kFoldedToCodes:
      return Fold(problem.epilogue, problem.output).has_value();
  }
  return false;
}

bool TakesBias(BiasAddition form, const SumsProblem& problem) {
  if (!problem.coding.has_bias) return form != BiasAddition::kFloat;
  return form == BiasAddition::kInteger ||
         (form == BiasAddition::kFloat &&
          FloatsHoldSums(problem.products(), problem.coding.inputs));
}

bool Computes(const SumsKernel& kernel, const SumsProblem& problem) {
  return kernel.has_instructions() &&
         (kernel.takes_weight_zero_points || !problem.coding.has_weight_zero_points) &&
         TakesBias(kernel.bias, problem) && kernel.fits(problem) &&
         TakesEpilogue(kernel.epilogue, problem);
}

}  // namespace

SumsKind KindOf(const SumsProblem& problem) {
  const ConvolutionShape* const shape = problem.convolution();
  if (shape != nullptr && shape->groups > 1 && shape->groups == shape->channels) {
    return SumsKind::kDepthwise;
  }
  if (problem.products() < kFew) return SumsKind::kFewProducts;
  return problem.products() < kSome ? SumsKind::kSomeProducts : SumsKind::kManyProducts;
}

absl::Span<const SumsKernel> SumsKernels() { return kKernels; }

std::vector<const SumsKernel*> KernelsFor(const SumsProblem& problem) {
  std::vector<const SumsKernel*> kernels;
  for (const SumsKernel& kernel : kKernels) {
    if (Computes(kernel, problem)) kernels.push_back(&kernel);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const SumsKernel* a, const SumsKernel* b) { return a->rate > b->rate; });
  return kernels;
}

absl::StatusOr<std::unique_ptr<IntegerSums>> PlanSums(const std::string& what,
                                                      const SumsProblem& problem) {
  RETURN_IF_ERROR(CheckSums(what, problem.products(), problem.coding));
  const std::string of_codes = absl::StrCat(what, " of codes");
  absl::Status none;
  for (const SumsKernel* kernel : KernelsFor(problem)) {
    auto planned = Planned(of_codes, [&] { return kernel->plan(problem); });
    if (planned.ok() && *planned == nullptr) continue;
    if (planned.ok()) {
      const auto set = static_cast<size_t>(BestInstructionSet());
      const auto kind = static_cast<size_t>(KindOf(problem));
      (*planned)->set_beside_floats(kernel->beside_floats[set][kind]);
    }
    if (!absl::IsUnimplemented(planned.status())) return planned;
    none = planned.status();
  }
  return none;
}

}  // namespace fixpoint::kernels
