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
#include "runtime/kernels/small_product.h"
#include "runtime/kernels/sum_parts.h"
#include "runtime/kernels/tiled_sums.h"
#include "runtime/kernels/two_pass_sums.h"

namespace fixpoint::kernels {
namespace {

// The products of a sum below which sums have few, and some.
constexpr int64_t kFew = 32;
constexpr int64_t kSome = 128;

bool Always() { return true; }
bool HasTiles() { return BestProductSet() != ProductSet::kNone; }
// With AMX oneDNN is faster.
bool HasFastTiles() {
  return BestProductSet() == ProductSet::kAvxVnni || (HasAvx512Vnni() && !HasAmx());
}
bool FitsAll(const SumsProblem& /*problem*/) { return true; }

constexpr bool kWeightZeroPoints = true;
constexpr bool kNoWeightZeroPoints = false;

// Where no sums of a kind were measured, the rates are those of the next. What was measured with
// AVX-512 stands for AVX-VNNI too.
constexpr RatesBesideFloats WithVnni(const RatesOfKinds& rates) {
  return {{{}, {}, {}, rates, rates}};
}

constexpr RatesBesideFloats kRatesOfTiles = {
    {{}, {}, {}, {1.43, 1.43, 2.6, 3.6}, {1.77, 1.77, 3.3, 3.9}}};
constexpr RatesBesideFloats kRatesOfTilesThroughStages = {{{},
                                                           {1.51, 0.96, 1.91, 1.98},
                                                           {1.61, 1.12, 2.06, 2.01},
                                                           {1.26, 1.43, 2.8, 3.4},
                                                           {1.68, 1.73, 3.2, 3.8}}};
constexpr RatesBesideFloats kRatesOfTilesInTwoPasses = {{{},
                                                         {0.79, 0.34, 0.95, 1.61},
                                                         {1.03, 0.81, 1.49, 1.91},
                                                         {0.72, 0.37, 1.14, 2.5},
                                                         {0.94, 1.11, 2.3, 3.5}}};
constexpr RatesBesideFloats kRatesOfSumsOfFloats = {{{0.46, 0.52, 0.64, 0.87},
                                                     {0.57, 0.31, 0.53, 0.79},
                                                     {0.87, 0.70, 0.72, 0.87},
                                                     {0.56, 0.31, 0.54, 0.79},
                                                     {0.65, 0.70, 0.74, 0.88}}};

constexpr SumsKernel kKernels[] = {
    {"small product", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForSmallProduct, 2.4, WithVnni({4.1, 4.1, 4.1, 4.0}),
     PlanSmallProduct},
    {"one channel", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForOneChannel, 1.6, WithVnni({1.15, 1.15, 1.15, 1.15}),
     PlanOneChannelConvolution},
    {"depthwise", HasAvx512Vnni, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForDepthwise, 1.17, WithVnni({1.77, 1.77, 1.77, 1.77}),
     PlanDepthwiseConvolution},
    {"tiles", HasFastTiles, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kFoldedToCodes, IsForFastTiles, 1.12, kRatesOfTiles, PlanTiledSums},
    {"oneDNN", HasExactIntegerProducts, kNoWeightZeroPoints, BiasAddition::kNone,
     EpilogueGrammar::kPostOps, FitsAll, 1, WithVnni({1.46, 1.17, 2.5, 3.3}), PlanOnednnSums},
    {"oneDNN, float bias", HasExactIntegerProducts, kNoWeightZeroPoints, BiasAddition::kFloat,
     EpilogueGrammar::kPostOps, FitsAll, 0.94, WithVnni({1.38, 1.06, 2.3, 3.0}), PlanOnednnSums},
    {"oneDNN in two passes", HasExactIntegerProducts, kWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, FitsAll, 0.9, WithVnni({1.26, 0.95, 2.0, 3.2}), PlanTwoPassSums},
    {"tiles through stages", HasTiles, kNoWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kNoRequantization, IsForTiles, 0.62, kRatesOfTilesThroughStages,
     PlanTiledSums},
    {"tiles in two passes", HasTiles, kWeightZeroPoints, BiasAddition::kInteger,
     EpilogueGrammar::kAnyStages, IsForTiles, 0.54, kRatesOfTilesInTwoPasses, PlanTilesInTwoPasses},
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
      const auto set = static_cast<size_t>(BestProductSet());
      const auto kind = static_cast<size_t>(KindOf(problem));
      (*planned)->set_beside_floats(kernel->beside_floats[set][kind]);
    }
    if (!absl::IsUnimplemented(planned.status())) return planned;
    none = planned.status();
  }
  return none;
}

}  // namespace fixpoint::kernels
