// From a float program for inference, as a framework exports it, to one that quantizes well: the
// same function, with everything that parameters decide in parameters, and without what does
// nothing.

#ifndef FIXPOINT_TRANSPILER_PREPARE_PREPARE_H_
#define FIXPOINT_TRANSPILER_PREPARE_PREPARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "runtime/scope.h"
#include "transpiler/pipeline/pipeline.h"

namespace fixpoint {

class PassTable;
class QuantizerTable;

// The pipeline of a preparation. Errors (kInvalidArgument): those of Pipeline::Parse.
absl::StatusOr<Pipeline> ParsePreparePipeline(absl::string_view text, const PassTable& passes);

struct PrepareOptions {
  // Whether batch norms are folded into weights, which rounds floats in another way: for who needs
  // weights with one scale, or moves scales between layers.
  bool fold_batch_norm = false;
  // Whether weights are equalized (equalize_weights.cc), which rounds floats in another way too.
  // Batch norms are folded then.
  bool equalize_weights = false;
  // Whether products without a bias get one of zeros, for CorrectBiases
  // (transpiler/weights/correct_biases.h).
  bool add_biases = false;
  // Whether products get a layer norm of their own where other ops read its result too, for
  // SmoothActivations (transpiler/weights/smooth_activations.h).
  bool split_layer_norms = false;
  // A user's own quantizers; null: the built-in ones.
  const QuantizerTable* quantizers = nullptr;
  // The same for passes; and the passes to run, empty: those of PreparePipelineOf.
  const PassTable* passes = nullptr;
  std::string pipeline;
  PipelineOptions pipeline_options;
};

// The built-in passes that the options ask for.
std::string PreparePipelineOf(const PrepareOptions& options);

// What a pass did to an op of the given program.
struct PreparedOp {
  int block;
  int op;  // its index in the given program
  std::string type;
  std::string output;  // the first one; "" for an op without
  std::string pass;
  bool removed;  // or else changed
};

struct PreparedModel {
  Program program;
  Scope scope;                  // the program's parameters, and nothing else
  std::vector<PreparedOp> ops;  // in the order of the pipeline, then of the program
  std::vector<std::string> notes;
};

// Prepares a float program for inference with its parameters; neither is changed. The result has an
// edit log: Untranspile restores the given program, of which the given parameters are. Transpile
// quantizes it like any other, and undoing that leads back to it. Without options it computes the
// same to the bit, in the reference interpreter, but for inline_scalars, after which a -0 may be 0.
// Linear in the program and in the parameters, and in the time that the interpreter takes for what
// is constant.
//
// Errors name the op and the variable:
//   kFailedPrecondition  an op belongs to training; one quantizes or dequantizes; the program was
//                        rewritten by Transpile
//   kInvalidArgument     those of Pipeline::Parse; the program is wrong, and an edit ran into it
//   kNotFound            the scope lacks a parameter
//   kInternal            a pass failed
absl::StatusOr<PreparedModel> Prepare(const Program& program, const Scope& scope,
                                      const PrepareOptions& options = {});

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PREPARE_PREPARE_H_
