// What the methods of this folder that look at samples are given.

#ifndef FIXPOINT_TRANSPILER_WEIGHTS_METHOD_RUN_H_
#define FIXPOINT_TRANSPILER_WEIGHTS_METHOD_RUN_H_

#include <cstdint>
#include <functional>

#include "ops/quantizer_table.h"
#include "proto/program/program_fwd.h"
#include "runtime/scope.h"
#include "runtime/training/fed_batches.h"

namespace fixpoint {

// A float program for inference, as Prepare left it (transpiler/prepare/prepare.h), and what
// Transpile made of a copy of it, with the parameters of each in a scope of its own. Both name
// their values alike.
struct NetworkPair {
  const Program& network;
  Scope* parameters;  // no method changes these
  const Program& simulated;
  Scope* simulated_parameters;  // with the ranges of activations
};

struct MethodRun {
  // Samples for the float program. Methods seek their first batch, and so see the same ones.
  FedBatches* batches = nullptr;
  // At least so many, in whole batches, if an epoch has them.
  int64_t samples = 1024;
  // Any number gives the same bits.
  int threads = 1;
  // Null: the built-in ones.
  const QuantizerTable* quantizers = nullptr;
  // Called before each layer with the number of those that are done, and of all; may be null.
  std::function<void(int64_t done, int64_t layers)> progress;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_WEIGHTS_METHOD_RUN_H_
