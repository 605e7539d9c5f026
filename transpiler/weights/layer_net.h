// A layer of a network as a program of its own, by which its weights are learned: the layer's ops,
// the mean square of what the result differs from a target, and the gradient of that.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_LAYER_NET_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_LAYER_NET_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/program/program_fwd.h"
#include "runtime/backend.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "transpiler/weights/weight_layers.h"

namespace fixpoint {

class LayerNet {
 public:
  // Errors: kUnimplemented: an op of the layer has no gradient that is known, or the backend does
  // not run it.
  static absl::StatusOr<std::unique_ptr<LayerNet>> Create(const Program& network,
                                                          const Scope& parameters,
                                                          const WeightLayer& layer);
  ~LayerNet();
  LayerNet(const LayerNet&) = delete;
  LayerNet& operator=(const LayerNet&) = delete;

  // Error (kFailedPrecondition): there is no memory. REQUIRES: as many as the weight has.
  absl::Status SetWeights(absl::Span<const float> weights);
  // The mean over the elements of the square of what the layer's result for `x` differs from
  // `target`. Errors: those of Backend::Run.
  absl::StatusOr<double> Loss(const Tensor& x, const Tensor& target);
  // The gradient of that with respect to the weights.
  absl::StatusOr<Tensor> Gradient(const Tensor& x, const Tensor& target);

 private:
  LayerNet(const WeightLayer& layer, Program program);

  absl::StatusOr<Tensor> Fetch(const std::string& name, const Tensor& x, const Tensor& target);

  const std::string x_;
  const std::string weight_;
  std::string gradient_;
  Scope scope_;
  const std::unique_ptr<Program> program_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_LAYER_NET_H_
