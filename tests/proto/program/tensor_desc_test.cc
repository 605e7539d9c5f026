// What a variable's description says of its tensor.

#include "proto/program/tensor_desc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fixpoint {
namespace {

// A variable that has a description of each kind; the one of kind k has k as its dimension.
VarDesc WithAll(VarType::Type kind) {
  VarDesc variable;
  variable.set_name("x");
  VarType* type = variable.mutable_type();
  type->set_type(kind);
  type->mutable_lod_tensor()->mutable_tensor()->add_dims(VarType::LOD_TENSOR);
  type->mutable_selected_rows()->add_dims(VarType::SELECTED_ROWS);
  type->mutable_tensor_array()->mutable_tensor()->add_dims(VarType::LOD_TENSOR_ARRAY);
  type->mutable_sparse_coo()->add_dims(VarType::SPARSE_COO);
  type->mutable_sparse_csr()->add_dims(VarType::SPARSE_CSR);
  return variable;
}

TEST(TensorOf, IsTheOneOfTheVariablesType) {
  for (const VarType::Type kind :
       {VarType::LOD_TENSOR, VarType::SELECTED_ROWS, VarType::LOD_TENSOR_ARRAY, VarType::SPARSE_COO,
        VarType::SPARSE_CSR}) {
    const VarDesc variable = WithAll(kind);
    ASSERT_NE(TensorOf(variable), nullptr) << VarType::Type_Name(kind);
    EXPECT_EQ(TensorOf(variable)->dims(0), kind);
  }
}

TEST(TensorOf, IsNoneOfAVariableWithoutOne) {
  EXPECT_EQ(TensorOf(WithAll(VarType::RAW)), nullptr);
  EXPECT_EQ(TensorOf(WithAll(VarType::FEED_MINIBATCH)), nullptr);
  VarDesc undescribed;
  for (int kind = VarType::Type_MIN; kind <= VarType::Type_MAX; ++kind) {
    undescribed.mutable_type()->set_type(static_cast<VarType::Type>(kind));
    EXPECT_EQ(TensorOf(undescribed), nullptr) << kind;
  }
}

TEST(IsElementType, IsFalseOfKindsOfVariables) {
  std::vector<std::string> types;
  for (int type = VarType::Type_MIN; type <= VarType::Type_MAX; ++type) {
    const VarType::Type element = static_cast<VarType::Type>(type);
    if (IsElementType(element)) types.push_back(VarType::Type_Name(element));
  }
  EXPECT_EQ(types, (std::vector<std::string>{"BOOL", "INT16", "INT32", "INT64", "FP16", "FP32",
                                             "FP64", "SIZE_T", "UINT8", "INT8", "BF16", "COMPLEX64",
                                             "COMPLEX128", "PSTRING"}));
}

}  // namespace
}  // namespace fixpoint
