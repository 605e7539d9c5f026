// What the types of a program's ops mean, looked up once for each type.

#ifndef FIXPOINT_OPS_OP_TYPES_H_
#define FIXPOINT_OPS_OP_TYPES_H_

#include <string>
#include <vector>

#include "proto/program/program_fwd.h"

namespace fixpoint {

class OpSchema;

// ForwardTypeOf and FindOpSchema for the ops of one program.
class OpTypes {
 public:
  explicit OpTypes(const Program& program);
  const OpSchema* SchemaOf(const Op& op) { return Of(op).schema; }
  const std::string& ForwardTypeOf(const Op& op) { return Of(op).forward_type; }
  bool IsForward(const Op& op);

 private:
  struct Known {
    bool is_set = false;
    const OpSchema* schema = nullptr;
    std::string forward_type;
  };
  const Known& Of(const Op& op);

  std::vector<Known> known_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OP_TYPES_H_
