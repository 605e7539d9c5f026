// Variables that hold some rows of a tensor, as the gradients of sparse embeddings do.

#ifndef FIXPOINT_OPS_SELECTED_ROWS_H_
#define FIXPOINT_OPS_SELECTED_ROWS_H_

#include "proto/program.h"
#include "proto/program.pb.h"

namespace fixpoint {

inline bool HoldsSelectedRows(const Variable& variable) {
  return variable.desc() != nullptr && variable.desc()->type().type() == VarType::SELECTED_ROWS;
}

// Makes a tensor's type that of some rows of it, unless it is such a type already.
inline void MakeSelectedRows(VarType* type) {
  if (type->type() == VarType::SELECTED_ROWS) return;
  *type->mutable_selected_rows() = type->lod_tensor().tensor();
  type->clear_lod_tensor();
  type->set_type(VarType::SELECTED_ROWS);
}

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_SELECTED_ROWS_H_
