// What the loops of elementwise kernels cost beside copying memory, in one run and on one thread:
//
//   ./bazelw run --config=opt //benchmarks:vector_loops_benchmark
//
// Gigabytes per second, read and written, for tensors that stay in the second cache and for those
// that stay in none.

#include <glog/logging.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/memory_speed.h"
#include "runtime/kernels/activation.h"
#include "runtime/kernels/arithmetic.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/optimizers.h"

namespace fixpoint::kernels {
namespace {

std::unique_ptr<Elementwise> Planned(Arithmetic op, const ElementwiseShape& shape) {
  auto planned = Elementwise::Plan(op, shape);
  CHECK(planned.ok()) << planned.status();
  return *std::move(planned);
}

// Tensors of one size, and what is done to them.
class Loops {
 public:
  explicit Loops(int64_t size)
      : size_(size), x_(size, 0.5f), y_(size, 0.25f), z_(size, 0.75f), w_(size, 0.125f) {
    std::printf("%lld floats\n", static_cast<long long>(size));
    Show("copy", 2, [&] { std::memcpy(y_.data(), x_.data(), size_ * sizeof(float)); });
  }

  void Activations() {
    const auto show = [&](const char* name, const Activation& activation) {
      Show(name, 2, [&] { Activate(activation, x_, Y()); });
    };
    show("relu", {ActivationFunction::kRelu});
    show("hard_swish", {ActivationFunction::kHardSwish, 6, 6, 3});
    show("exp", {ActivationFunction::kExp});
    show("sigmoid", {ActivationFunction::kSigmoid});
    show("tanh", {ActivationFunction::kTanh});
    show("gelu", {ActivationFunction::kGelu});
    show("log", {ActivationFunction::kLog});
    Show("relu, gradient in place", 3,
         [&] { ActivateBackward({ActivationFunction::kRelu}, x_, y_, Y()); });
    Show("gelu, gradient", 3, [&] { ActivateBackward({ActivationFunction::kGelu}, x_, y_, Z()); });
  }

  void Elementwises() {
    const auto equal = Planned(Arithmetic::kAdd, {{size_}, {size_}});
    Show("x + y", 3, [&] { equal->Run(x_, y_, Z()); });
    const auto scalar = Planned(Arithmetic::kMul, {{size_}, {1}});
    Show("x * scalar", 2, [&] { scalar->Run(x_, {0.5f}, Z()); });
    for (const int64_t channels : {6, 16, 64, 512}) {
      const auto rows = Planned(Arithmetic::kAdd, {{size_ / channels, channels}, {channels}});
      const int64_t count = size_ / channels * channels;
      const std::vector<float> bias(channels, 1.0f);
      std::vector<float> dbias(channels);
      char name[64];
      std::snprintf(name, sizeof name, "x + row of %lld", static_cast<long long>(channels));
      const auto x = absl::MakeSpan(x_).first(count);
      Show(name, 2, [&] { rows->Run(x, bias, Z().first(count)); });
      std::snprintf(name, sizeof name, "sum of rows of %lld", static_cast<long long>(channels));
      Show(name, 1, [&] { rows->Backward({}, {}, x, {}, absl::MakeSpan(dbias)); });
    }
    Show("sum of all", 1, [&] { total_ += Sum(x_); });
    Show("sum of four", 5, [&] { AddAll({x_, y_, z_, w_}, Y()); });
  }

  void Optimizers() {
    Show("sgd", 3, [&] { Sgd(x_, 1e-6f, Y()); });
    Show("momentum", 5, [&] { Momentum({}, x_, 1e-6f, Y(), Z()); });
    Show("adam", 7, [&] {
      Adam({}, x_, 1e-6f, Y(), {0.9f, 0.999f, 0.9f, 0.999f, Z(), absl::MakeSpan(w_)});
    });
  }

 private:
  absl::Span<float> Y() { return absl::MakeSpan(y_); }
  absl::Span<float> Z() { return absl::MakeSpan(z_); }

  // A run reads and writes as many tensors.
  template <typename Run>
  void Show(const char* what, int tensors, Run run) const {
    std::printf("  %-28s %7.1f\n", what, MemorySpeed(tensors * size_ * sizeof(float), run));
  }

  const int64_t size_;
  std::vector<float> x_;
  std::vector<float> y_;
  std::vector<float> z_;
  std::vector<float> w_;
  double total_ = 0;
};

}  // namespace
}  // namespace fixpoint::kernels

int main() {
  for (const int64_t size : {int64_t{1} << 15, int64_t{1} << 24}) {
    fixpoint::kernels::Loops loops(size);
    loops.Activations();
    loops.Elementwises();
    loops.Optimizers();
  }
  return 0;
}
