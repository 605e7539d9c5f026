#include "proto/program/tensor_desc.h"

namespace fixpoint {

const VarType::TensorDesc* TensorOf(const VarDesc& variable) {
  const VarType& type = variable.type();
  switch (type.type()) {
    case VarType::LOD_TENSOR:
      return type.has_lod_tensor() ? &type.lod_tensor().tensor() : nullptr;
    case VarType::SELECTED_ROWS:
      return type.has_selected_rows() ? &type.selected_rows() : nullptr;
    case VarType::LOD_TENSOR_ARRAY:
      return type.has_tensor_array() ? &type.tensor_array().tensor() : nullptr;
    case VarType::SPARSE_COO:
      return type.has_sparse_coo() ? &type.sparse_coo() : nullptr;
    case VarType::SPARSE_CSR:
      return type.has_sparse_csr() ? &type.sparse_csr() : nullptr;
    default:
      return nullptr;
  }
}

// There is no default, so that the compiler complains about a new type.
bool IsElementType(VarType::Type type) {
  switch (type) {
    case VarType::BOOL:
    case VarType::INT16:
    case VarType::INT32:
    case VarType::INT64:
    case VarType::FP16:
    case VarType::FP32:
    case VarType::FP64:
    case VarType::SIZE_T:
    case VarType::UINT8:
    case VarType::INT8:
    case VarType::BF16:
    case VarType::COMPLEX64:
    case VarType::COMPLEX128:
    case VarType::PSTRING:
      return true;
    case VarType::LOD_TENSOR:
    case VarType::SELECTED_ROWS:
    case VarType::FEED_MINIBATCH:
    case VarType::FETCH_LIST:
    case VarType::STEP_SCOPES:
    case VarType::LOD_RANK_TABLE:
    case VarType::LOD_TENSOR_ARRAY:
    case VarType::PLACE_LIST:
    case VarType::READER:
    case VarType::FETCH_VAR_LIST:
    case VarType::RAW:
    case VarType::TUPLE:
    case VarType::STRING:
    case VarType::STRINGS:
    case VarType::VOCAB:
    case VarType::FEED_LIST:
    case VarType::SPARSE_COO:
    case VarType::SPARSE_CSR:
      return false;
  }
  return false;
}

}  // namespace fixpoint
