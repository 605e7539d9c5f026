#include "transpiler/weights/round_weights.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/program/op.h"
#include "runtime/checksum.h"
#include "runtime/random.h"
#include "transpiler/freeze/site_codes.h"
#include "transpiler/weights/kept_codes.h"
#include "transpiler/weights/layer_net.h"
#include "transpiler/weights/learned_rounding.h"
#include "transpiler/weights/sample_rows.h"
#include "transpiler/weights/sample_runs.h"
#include "transpiler/weights/weight_layers.h"

namespace fixpoint {
namespace {

// A batch is cut into as many parts whatever the number of threads, which share them; the gradient
// is the sum of theirs in one order.
constexpr int kParts = 4;

absl::Status CheckOptions(const RoundOptions& options) {
  const auto want = [](bool holds, absl::string_view what) {
    return holds ? absl::OkStatus() : absl::InvalidArgumentError(what);
  };
  RETURN_IF_ERROR(want(options.steps > 0 && options.batch_size > 0,
                       "rounding is learned in no steps or batches; want 1 or more"));
  RETURN_IF_ERROR(want(options.learning_rate > 0 && options.lambda >= 0,
                       "the learning rate of rounding is not above 0, or lambda is below 0"));
  return want(options.steps_without >= 0 && options.steps_without < 1,
              "the part of the steps without the second term is not at least 0 and below 1");
}

// What a layer learns from: what the simulated network gives it, and what the float one computes.
struct LayerSamples {
  SampleRows x;
  SampleRows target;

  int64_t size() const { return std::min(x.size(), target.size()); }
};

absl::Status Collect(const Program& program, Scope* parameters, const MethodRun& run,
                     const std::string& variable, SampleRows* rows) {
  return RunOnSamples(program, parameters, run, {variable}, [rows](std::vector<Tensor> fetched) {
    rows->Append(fetched.front());
    return absl::OkStatus();
  });
}

// Learns how one weight is rounded.
class Learner {
 public:
  Learner(const RoundOptions& options, int threads, int channel_axis, LayerSamples samples,
          std::vector<std::unique_ptr<LayerNet>> nets)
      : options_(options),
        threads_(threads),
        channel_axis_(channel_axis),
        samples_(std::move(samples)),
        nets_(std::move(nets)) {}

  // One step for the batch that `layer` and `step` choose.
  absl::Status Step(int layer, int64_t step, std::vector<float>* weights,
                    LearnedRounding* rounding) {
    const std::vector<int64_t> rows = RowsOf(layer, step);
    rounding->Write(absl::MakeSpan(*weights));
    std::vector<std::optional<Tensor>> gradients(kParts);
    std::vector<double> factors(kParts);
    RETURN_IF_ERROR(RunOnThreads(threads_, kParts, [&](int part) -> absl::Status {
      const absl::Span<const int64_t> of_part = PartOf(rows, part);
      if (of_part.empty()) return absl::OkStatus();
      RETURN_IF_ERROR(nets_[part]->SetWeights(*weights));
      ASSIGN_OR_RETURN(const Tensor x, samples_.x.Gather(of_part));
      ASSIGN_OR_RETURN(const Tensor target, samples_.target.Gather(of_part));
      ASSIGN_OR_RETURN(gradients[part], nets_[part]->Gradient(x, target));
      // The loss is the sum over channels, and the mean over the rest.
      factors[part] = static_cast<double>(target.dims()[channel_axis_] * of_part.size()) /
                      static_cast<double>(rows.size());
      return absl::OkStatus();
    }));
    std::vector<float> gradient(weights->size());
    for (int part = 0; part < kParts; ++part) {
      if (!gradients[part]) continue;
      const auto factor = static_cast<float>(factors[part]);
      const absl::Span<const float> of_part = gradients[part]->data<float>();
      for (size_t i = 0; i < gradient.size(); ++i) gradient[i] += factor * of_part[i];
    }
    rounding->Step(step, gradient, options_);
    return absl::OkStatus();
  }

  // The mean square of what the layer computes wrong, of all samples.
  absl::StatusOr<double> Error(const std::vector<float>& weights) {
    const int64_t size = samples_.size();
    const int64_t batches = (size + options_.batch_size - 1) / options_.batch_size;
    std::vector<double> sums(batches);
    RETURN_IF_ERROR(RunOnThreads(threads_, kParts, [&](int part) -> absl::Status {
      RETURN_IF_ERROR(nets_[part]->SetWeights(weights));
      for (int64_t batch = part; batch < batches; batch += kParts) {
        const int64_t first = batch * options_.batch_size;
        std::vector<int64_t> rows(std::min(options_.batch_size, size - first));
        std::iota(rows.begin(), rows.end(), first);
        ASSIGN_OR_RETURN(const Tensor x, samples_.x.Gather(rows));
        ASSIGN_OR_RETURN(const Tensor target, samples_.target.Gather(rows));
        ASSIGN_OR_RETURN(const double loss, nets_[part]->Loss(x, target));
        sums[batch] = loss * static_cast<double>(rows.size());
      }
      return absl::OkStatus();
    }));
    return std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(size);
  }

 private:
  std::vector<int64_t> RowsOf(int layer, int64_t step) const {
    const RandomStream stream(options_.seed, static_cast<uint32_t>(layer),
                              static_cast<uint32_t>(step));
    std::vector<int64_t> rows(std::min(options_.batch_size, samples_.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = static_cast<int64_t>(stream.Uniform(i) * static_cast<double>(samples_.size()));
    }
    return rows;
  }

  static absl::Span<const int64_t> PartOf(absl::Span<const int64_t> rows, int part) {
    const size_t begin = rows.size() * part / kParts;
    return rows.subspan(begin, rows.size() * (part + 1) / kParts - begin);
  }

  const RoundOptions& options_;
  const int threads_;
  const int channel_axis_;
  const LayerSamples samples_;
  const std::vector<std::unique_ptr<LayerNet>> nets_;  // one for each part
};

class Rounder {
 public:
  Rounder(const NetworkPair& networks, const RoundOptions& options, const MethodRun& run,
          const QuantizerTable& quantizers)
      : networks_(networks),
        options_(options),
        run_(run),
        quantizers_(quantizers),
        kept_(options.kept) {}

  absl::StatusOr<std::vector<RoundedLayer>> RoundAll() {
    ASSIGN_OR_RETURN(const std::vector<WeightLayer> layers,
                     FindWeightLayers(networks_, quantizers_));
    std::vector<RoundedLayer> rounded;
    for (const WeightLayer& layer : layers) {
      const auto number = static_cast<int>(rounded.size());
      if (run_.progress) run_.progress(number, static_cast<int64_t>(layers.size()));
      RoundedLayer result;
      result.output = std::string(layer.sums->name());
      result.weight = std::string(layer.weight->name());
      ASSIGN_OR_RETURN(result.why_not, Round(number, layer, &result));
      rounded.push_back(std::move(result));
    }
    return rounded;
  }

 private:
  // Why the weights stay as they are; "": they do not. `number` is the layer's.
  absl::StatusOr<std::string> Round(int number, const WeightLayer& layer, RoundedLayer* result) {
    const Tensor& weight =
        std::get<Tensor>(*networks_.simulated_parameters->FindOrNull(layer.weight->name()));
    ASSIGN_OR_RETURN(const WeightCodesOptions codes_options,
                     CodesOptionsOf(layer.site, *networks_.simulated_parameters, quantizers_,
                                    EraOf(networks_.simulated)));
    ASSIGN_OR_RETURN(const WeightCodes nearest, MakeSiteCodes(layer.site, weight, codes_options));
    if (nearest.zero_points) return std::string("its codes have a zero point");
    std::vector<std::unique_ptr<LayerNet>> nets;
    for (int part = 0; part < kParts; ++part) {
      absl::StatusOr<std::unique_ptr<LayerNet>> net =
          LayerNet::Create(networks_.network, *networks_.simulated_parameters, layer);
      if (absl::IsUnimplemented(net.status())) return std::string(net.status().message());
      RETURN_IF_ERROR(net.status());
      nets.push_back(*std::move(net));
    }
    LayerSamples samples = {SampleRows(options_.most_bytes / 2),
                            SampleRows(options_.most_bytes / 2)};
    RETURN_IF_ERROR(Collect(networks_.simulated, networks_.simulated_parameters, run_,
                            layer.simulated_activation, &samples.x));
    RETURN_IF_ERROR(Collect(networks_.network, networks_.parameters, run_,
                            std::string(layer.result->name()), &samples.target));
    for (const SampleRows* rows : {&samples.x, &samples.target}) {
      if (!rows->why_not().empty()) return rows->why_not();
    }
    if (samples.x.appended() != samples.target.appended()) {
      return std::string("what it computes has other samples than what it reads");
    }
    const uint64_t learned_from = LearnedFrom(number, layer, samples, nearest, codes_options);
    Learner learner(options_, run_.threads, layer.channel_axis, std::move(samples),
                    std::move(nets));
    LearnedRounding rounding(weight, nearest, codes_options);
    std::vector<float> weights(weight.size());
    rounding.WriteCodes(rounding.nearest_codes(), absl::MakeSpan(weights));
    ASSIGN_OR_RETURN(result->nearest_error, learner.Error(weights));
    ASSIGN_OR_RETURN(std::optional<std::vector<int32_t>> kept,
                     kept_.Find(learned_from, weights.size()));
    if (!kept) {
      for (int64_t step = 0; step < options_.steps; ++step) {
        RETURN_IF_ERROR(learner.Step(number, step, &weights, &rounding));
      }
      kept = rounding.RoundedCodes();
      RETURN_IF_ERROR(kept_.Keep(learned_from, *kept));
    }
    const std::vector<int32_t>& codes = *kept;
    rounding.WriteCodes(codes, absl::MakeSpan(weights));
    ASSIGN_OR_RETURN(result->learned_error, learner.Error(weights));
    result->elements = weight.size();
    if (!(result->learned_error < result->nearest_error)) {
      return std::string("learning found none that are better");
    }
    ASSIGN_OR_RETURN(Tensor learned, Tensor::Allocate(VarType::FP32, weight.dims()));
    std::copy(weights.begin(), weights.end(), learned.mutable_data<float>().begin());
    ASSIGN_OR_RETURN(const WeightCodes found, MakeSiteCodes(layer.site, learned, codes_options));
    if (found.scales.bytes() != nearest.scales.bytes() ||
        LearnedRounding(learned, found, codes_options).nearest_codes() != codes) {
      return std::string("its quantizer finds another range from the learned weights");
    }
    for (size_t i = 0; i < codes.size(); ++i) {
      result->changed += static_cast<int64_t>(codes[i] != rounding.nearest_codes()[i]);
    }
    networks_.simulated_parameters->Set(layer.weight->name(), std::move(learned));
    return std::string();
  }

  // A checksum of all that decides what a layer learns.
  uint64_t LearnedFrom(int number, const WeightLayer& layer, const LayerSamples& samples,
                       const WeightCodes& nearest, const WeightCodesOptions& codes) const {
    std::string words = absl::StrCat(number, " ", TextOf(options_), " ", codes.codes.smallest, " ",
                                     codes.codes.largest, " ", codes.axis, " ");
    for (const Op* op : layer.ops) absl::StrAppend(&words, op->desc().SerializeAsString());
    Checksum checksum;
    checksum.Add({reinterpret_cast<const uint8_t*>(words.data()), words.size()});
    for (const Argument* parameter : {layer.weight, layer.bias}) {
      if (parameter == nullptr) continue;
      checksum.Add(
          std::get<Tensor>(*networks_.simulated_parameters->FindOrNull(parameter->name())).bytes());
    }
    checksum.Add(nearest.codes.bytes());
    checksum.Add(nearest.scales.bytes());
    samples.x.AddTo(&checksum);
    samples.target.AddTo(&checksum);
    return checksum.value();
  }

  const NetworkPair& networks_;
  const RoundOptions& options_;
  const MethodRun& run_;
  const QuantizerTable& quantizers_;
  const KeptCodes kept_;
};

}  // namespace

std::string TextOf(const RoundOptions& options) {
  return absl::StrCat(options.steps, " steps of ", options.batch_size, " samples, rate ",
                      options.learning_rate, ", lambda ", options.lambda, ", beta ",
                      options.first_beta, " to ", options.last_beta, " after ",
                      options.steps_without, ", seed ", options.seed, ", ", options.most_bytes,
                      " bytes");
}

absl::StatusOr<std::vector<RoundedLayer>> RoundWeights(const NetworkPair& networks,
                                                       const RoundOptions& options,
                                                       const MethodRun& run) {
  RETURN_IF_ERROR(CheckOptions(options));
  const QuantizerTable built_in;
  const QuantizerTable& quantizers = run.quantizers != nullptr ? *run.quantizers : built_in;
  return Rounder(networks, options, run, quantizers).RoundAll();
}

}  // namespace fixpoint
