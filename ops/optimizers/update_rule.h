// How one kind of optimizer updates a parameter: its op, the op's state, its attributes.
//
// Adding one: a file beside this one, and its factory in ops/optimizer.h.

#ifndef FIXPOINT_OPS_OPTIMIZERS_UPDATE_RULE_H_
#define FIXPOINT_OPS_OPTIMIZERS_UPDATE_RULE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/era.h"
#include "proto/program/op_builder.h"

namespace fixpoint {

// State of one parameter, FP32, that is kept from step to step.
struct Accumulator {
  enum class Shape { kParameter, kOne };
  std::string suffix;  // after the parameter's name: "_velocity_0"
  std::string input;   // slots of the op; output: "" for none
  std::string output;
  Shape shape = Shape::kParameter;
  float initial_value = 0;
};

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  // Its slots Param, Grad, LearningRate and ParamOut are the same for all.
  virtual absl::string_view op_type() const = 0;
  // Whether the op exists in that era.
  virtual bool IsOf(Era) const { return true; }
  virtual std::vector<Accumulator> Accumulators(Era) const { return {}; }
  // The attributes that differ from their defaults.
  virtual void AddAttrs(OpBuilder&) const {}
  // Whether the op can add the decay to the gradient itself; else ops in front of it do.
  virtual bool DecaysItself(Era) const { return false; }
  // REQUIRES: DecaysItself.
  virtual void AddL2Decay(float /*coefficient*/, OpBuilder&) const {}
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OPTIMIZERS_UPDATE_RULE_H_
