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

bool Always() { return true; }
bool FitsAll(const SumsProblem& /*problem*/) { return true; }

constexpr bool kWeightZeroPoints = true;
constexpr bool kNoWeightZeroPoints = false;

constexpr SumsKernel kKernels[] = {
    {"small product", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForSmallProduct, 2.4, PlanSmallProduct},
    {"one channel", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForOneChannel, 1.8, PlanOneChannelConvolution},
    {"depthwise", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForDepthwise, 1.15, PlanDepthwiseConvolution},
    {"tiles", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kFoldedToCodes, IsForTiles, 1.15, PlanTiledConvolution},
    {"tiles of parts", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kFoldedToCodes, IsForTilesOfParts, 1.02, PlanTiledConvolution},
    {"oneDNN", HasExactIntegerProducts, kNoWeightZeroPoints, BiasAddition::kNone,
     EpilogueGrammar::kPostOps, FitsAll, 1, PlanOnednnSums},
    {"oneDNN, float bias", HasExactIntegerProducts, kNoWeightZeroPoints, BiasAddition::kFloat,
     EpilogueGrammar::kPostOps, FitsAll, 0.93, PlanOnednnSums},
    {"oneDNN in two passes", HasExactIntegerProducts, kWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, FitsAll, 0.91, PlanTwoPassSums},
    {"pairs", AddsPairsOfProducts, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kNoRequantization, IsForPairs, 0.55, PlanPairedSums},
    {"pairs in two passes", AddsPairsOfProducts, kWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForPairs, 0.5, PlanPairsInTwoPasses},
    {"floats", Always, kWeightZeroPoints, BiasAddition::kInteger, EpilogueGrammar::kAnyStages,
     FitsAll, 0.29, PlanSumsOfFloats},
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
    if (!absl::IsUnimplemented(planned.status())) return planned;
    none = planned.status();
  }
  return none;
}

}  // namespace fixpoint::kernels
