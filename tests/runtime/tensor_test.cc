#include "runtime/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace fixpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kTwoTo62 = int64_t{1} << 62;

TEST(ElementSize, IsThatOfTheReference) {
  const std::pair<VarType::Type, size_t> cases[] = {
      {VarType::BOOL, 1},        {VarType::INT8, 1},       {VarType::UINT8, 1},
      {VarType::INT16, 2},       {VarType::FP16, 2},       {VarType::BF16, 2},
      {VarType::INT32, 4},       {VarType::FP32, 4},       {VarType::INT64, 8},
      {VarType::FP64, 8},        {VarType::SIZE_T, 8},     {VarType::COMPLEX64, 8},
      {VarType::COMPLEX128, 16}, {VarType::LOD_TENSOR, 0}, {VarType::STRING, 0},
  };
  for (const auto& [dtype, size] : cases) {
    EXPECT_EQ(ElementSize(dtype), size) << VarType::Type_Name(dtype);
  }
}

TEST(TensorSize, IsTheProductOfTheExtents) {
  EXPECT_EQ(*TensorSize({2, 3, 4}), 24);
  EXPECT_EQ(*TensorSize({}), 1);
  EXPECT_EQ(*TensorSize({5, 0}), 0);
  EXPECT_EQ(*TensorSize({kTwoTo62}), kTwoTo62);
}

TEST(TensorBytes, RefusesWhatHasNoSize) {
  struct Case {
    VarType::Type dtype;
    std::vector<int64_t> dims;
    std::string message;
  };
  const Case cases[] = {
      {VarType::FP32, {2, -1}, "dims [2, -1]: the extent -1 is negative"},
      {VarType::INT8,
       {kTwoTo62, 2},
       "dims [4611686018427387904, 2]: the number of elements exceeds 2^63 - 1"},
      {VarType::INT8,
       {0, kTwoTo62, 2},
       "dims [0, 4611686018427387904, 2]: the number of elements exceeds 2^63 - 1"},
      {VarType::FP32,
       {kTwoTo62},
       "dims [4611686018427387904]: the number of bytes exceeds 2^63 - 1"},
      {VarType::LOD_TENSOR, {2}, "data type LOD_TENSOR is not one of tensor elements"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(TensorBytes(c.dtype, c.dims).status(), absl::InvalidArgumentError(c.message));
    EXPECT_EQ(Tensor::Allocate(c.dtype, c.dims).status(), absl::InvalidArgumentError(c.message));
  }
}

TEST(Tensor, HoldsItsElementsRowMajor) {
  const Tensor tensor = Tensor::FromValues<int16_t>({2, 3}, {1, 2, 3, 4, 5, 256});
  EXPECT_EQ(tensor.dtype(), VarType::INT16);
  EXPECT_THAT(tensor.dims(), ElementsAre(2, 3));
  EXPECT_EQ(tensor.size(), 6);
  EXPECT_THAT(tensor.data<int16_t>(), ElementsAre(1, 2, 3, 4, 5, 256));
  EXPECT_THAT(tensor.bytes(), ElementsAre(1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0, 1));
}

TEST(Tensor, HoldsBooleans) {
  const Tensor tensor = Tensor::FromValues<bool>({3}, {true, false, true});
  EXPECT_THAT(tensor.data<bool>(), ElementsAre(true, false, true));
}

TEST(Tensor, AScalarHasNoDimsAndOneElement) {
  const Tensor scalar = Tensor::FromValues<float>({}, {2.5f});
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_THAT(scalar.data<float>(), ElementsAre(2.5f));
}

TEST(Tensor, AnEmptyTensorHasNoElements) {
  absl::StatusOr<Tensor> empty = Tensor::Allocate(VarType::FP64, {3, 0});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(empty->data<double>(), IsEmpty());
  EXPECT_THAT(empty->Clone()->bytes(), IsEmpty());
}

TEST(Tensor, OwnedMemoryIsAligned) {
  for (int64_t extent : {1, 63, 64, 1000}) {
    absl::StatusOr<Tensor> tensor = Tensor::Allocate(VarType::INT8, {extent});
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->bytes().data()) % Tensor::kAlignment, 0u);
  }
}

TEST(Tensor, ACloneIsApartFromItsOriginal) {
  Tensor original = Tensor::FromValues<int32_t>({3}, {1, 2, 3});
  original.set_lod({{0, 1, 3}});
  const absl::StatusOr<Tensor> clone = original.Clone();
  ASSERT_TRUE(clone.ok()) << clone.status();
  original.mutable_data<int32_t>()[0] = 7;
  original.set_lod({});
  EXPECT_THAT(clone->data<int32_t>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(clone->lod(), (LoD{{0, 1, 3}}));
}

TEST(Tensor, WithoutMemoryThereIsAnError) {
  // No machine has this much memory.
  EXPECT_EQ(Tensor::Allocate(VarType::INT8, {int64_t{1} << 60}).status(),
            absl::FailedPreconditionError("dims [1152921504606846976]: there is no memory for "
                                          "1152921504606846976 bytes"));
}

TEST(TensorDeathTest, RefusesToReadAnotherElementType) {
  const Tensor tensor = Tensor::FromValues<float>({1}, {0.0f});
  EXPECT_DEATH(tensor.data<int32_t>(), "the tensor holds FP32, not INT32");
}

TEST(TensorDeathTest, RefusesAnotherNumberOfValuesThanElements) {
  EXPECT_DEATH(Tensor::FromValues<float>({2}, {0.0f}), "2 vs. 1");
}

}  // namespace
}  // namespace fixpoint
