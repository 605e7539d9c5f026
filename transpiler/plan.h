// What a transpile will do, decided before anything is done. In memory it speaks of the program's
// values and arguments; as a file (plan_file.h) it names them.

#ifndef FIXPOINT_TRANSPILER_PLAN_H_
#define FIXPOINT_TRANSPILER_PLAN_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/program.h"
#include "proto/quant_config.pb.h"
#include "proto/quant_plan.pb.h"
#include "transpiler/reasons.h"

namespace fixpoint {

// One quantizer: a value, how it is quantized, and who reads the result.
struct Site {
  const Value* value = nullptr;
  SlotRole::Role role = SlotRole::ACTIVATION;
  QuantSpec spec;                                 // no field absent that has a meaning
  std::vector<const Argument*> readers;           // of forward ops
  std::vector<const Argument*> gradient_readers;  // of their gradient ops
  std::string shared_scale;
  std::optional<QuantPlan::Range> range;
  bool observe = false;
  // The slots of its quantize op that read a scale that is to get a gradient and an update.
  std::vector<std::string> trained_inputs;

  bool trains_scale() const { return !trained_inputs.empty(); }
};

// What was decided about an op that has a quantizable slot.
struct Decision {
  const Op* op = nullptr;
  bool quantized = false;
  Reason reason = Reason::kNotInTarget;
  std::string rule;    // the rule that decided, if one did
  std::string detail;  // the slot or value it is about
};

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

#endif  // FIXPOINT_TRANSPILER_PLAN_H_
