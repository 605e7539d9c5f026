#include "tests/runtime/parameter_program.h"

namespace fixpoint {

ProgramDesc ProgramWith(const std::vector<DeclaredParameter>& parameters) {
  ProgramDesc program;
  BlockDesc* block = program.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  for (const DeclaredParameter& parameter : parameters) {
    VarDesc* var = block->add_vars();
    var->set_name(parameter.name);
    var->set_persistable(true);
    VarType* type = var->mutable_type();
    type->set_type(parameter.kind);
    VarType::TensorDesc* tensor = parameter.kind == VarType::SELECTED_ROWS
                                      ? type->mutable_selected_rows()
                                      : type->mutable_lod_tensor()->mutable_tensor();
    tensor->set_data_type(VarType::FP32);
    for (const int64_t extent : parameter.dims) tensor->add_dims(extent);
  }
  return program;
}

}  // namespace fixpoint
