// What a transpile will do, decided before anything is done. In memory it refers to the program's
// values and arguments; as a file (plan_file.h) it names them.

#ifndef FIXPOINT_TRANSPILER_PLAN_PLAN_H_
#define FIXPOINT_TRANSPILER_PLAN_PLAN_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/config/quant_plan.pb.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/program/program_fwd.h"
#include "transpiler/plan/reasons.h"

namespace fixpoint {

// One quantizer: a value, how it is quantized, and which slots read the result.
struct Site {
  const Value* value = nullptr;
  SlotRole::Role role = SlotRole::ACTIVATION;
  QuantSpec spec;                                 // no meaningful field is absent
  std::vector<const Argument*> readers;           // slots of forward ops
  std::vector<const Argument*> gradient_readers;  // slots of their gradient ops; of a gradient, all
  std::string shared_scale;
  std::optional<QuantPlan::Range> range;
  bool observe = false;
  // The slots of its quantize op that read a scale to be trained.
  std::vector<std::string> trained_inputs;

  // Whether its quantizer gives the gradient of the value, and of what it trains.
  bool has_own_gradient = false;

  // Whether the value is the gradient of a product's result, which only gradient ops read.
  bool is_of_gradient() const { return readers.empty() && !gradient_readers.empty(); }
};

// The same of a site of a plan file.
inline bool IsOfGradient(const QuantPlan::Site& site) {
  return site.readers().empty() && !site.gradient_readers().empty();
}

// The decision about an op that has a quantizable slot.
struct Decision {
  const Op* op = nullptr;
  bool quantized = false;
  Reason reason = Reason::kNotInTarget;
  std::string rule;    // the rule that decided, or asked for what is not done; "" for none
  std::string detail;  // the slot or value it is about
  int state_bits = 0;  // of the codes of its hidden state (ops/state_codes.h); 0: none
};

// The note on a plan that `is_inference`, which is no news to a caller that wants one.
inline constexpr char kForInferenceNote[] =
    "the program has no backward op: it is rewritten for inference";

struct Plan {
  std::string target;
  bool is_inference = false;        // the program has no backward op
  std::vector<Site> sites;          // in the order of their first readers
  std::vector<Decision> decisions;  // in program order
  Schedule schedule;
  // Each forward op that is rewired, with each of its gradient ops.
  std::vector<std::pair<const Op*, const Op*>> gradients;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PLAN_PLAN_H_
