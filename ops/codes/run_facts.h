// The facts about a run on which the decisions of this folder depend (coded_product.h,
// folded_ops.h, added_codes.h). The planner, lowering and the executor share the decisions and
// differ in the facts: the planner knows the sites of its plan; lowering what the program declares,
// and its parameters; the executor the type of every value, and what is fetched.

#ifndef FIXPOINT_OPS_CODES_RUN_FACTS_H_
#define FIXPOINT_OPS_CODES_RUN_FACTS_H_

#include <optional>

#include "ops/codes/coded_product.h"
#include "ops/dims.h"
#include "ops/epilogue.h"
#include "ops/era.h"
#include "proto/program/program_fwd.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

struct KnownType {
  VarType::Type dtype = VarType::FP32;
  Dims dims;  // some may be unknown
};

// How a run holds the floats of a value.
struct HeldForm {
  enum class Kind {
    kFloats,
    kCodes,    // of one range, or one step and zero point
    kUnknown,  // either
  };
  Kind kind = Kind::kFloats;
  // The stage that adds such codes; nothing where a run alone knows the step between them.
  std::optional<EpilogueStage> addition;
};

class RunFacts {
 public:
  virtual ~RunFacts() = default;

  virtual Era era() const = 0;
  // Nothing where it is not known.
  virtual std::optional<KnownType> TypeOf(const Value& value) const = 0;
  // The only op that reads the elements of a value, which the caller of the run neither fetches nor
  // finds in the scope afterwards; null where there is none, or more than one.
  virtual const Op* OnlyReader(const Value& value) const = 0;
  // Whether the op is in test mode, whatever its attribute says.
  virtual bool HasBegunTest(const Op& op) const = 0;
  virtual HeldForm HeldFormOf(const Argument& input) const = 0;
  // The form of a bias of the current product, its own or that of a sum after it.
  virtual BiasForm BiasFormOf(const Argument& addend) const = 0;
  // Why a product cannot take over the per-channel operand of an op after it; nothing if it can.
  virtual std::optional<IntegerReason> WhyNotRead(const Argument& operand) const = 0;
  // Why an op that gives `output` cannot be folded into the product before it; nothing if it can.
  virtual std::optional<IntegerReason> WhyNotFolded(const Op& op, const Argument& output) const = 0;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_CODES_RUN_FACTS_H_
