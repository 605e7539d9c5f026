// Convolution and pooling of volumes, and local response normalization, worked by hand.

#include <gtest/gtest.h>

#include "tests/runtime/reference/run_ops.h"

namespace fixpoint::reference {
namespace {

constexpr char kVolume[] = "x f32[1,1,2,2,2] 1 2 3 4 5 6 7 8\n";

TEST(Volumes, AreMultipliedWithoutFlippingTheFilter) {
  EXPECT_EQ(RunOps("conv3d(Input=x, Filter=w) -> (Output=y)",
                   "x f32[1,1,2,2,2] 1 2 3 4 5 6 7 8\nw f32[1,1,2,1,1] 1 10\n"),
            "y f32[1,1,1,2,2] 51 62 73 84\n");
}

TEST(Volumes, AreSpreadByATransposedConvolution) {
  EXPECT_EQ(RunOps("conv3d_transpose(Input=x, Filter=w) -> (Output=y) {strides=[2, 1, 1]}",
                   "x f32[1,1,2,1,1] 3 5\nw f32[1,1,2,1,1] 1 10\n"),
            "y f32[1,1,4,1,1] 3 30 5 50\n");
}

TEST(PoolingOfVolumes, TakesMaximaAndAverages) {
  EXPECT_EQ(RunOps("pool3d(X=x) -> (Out=y) {pooling_type=\"max\", ksize=[2, 1, 2]}", kVolume),
            "y f32[1,1,1,2,1] 6 8\n");
  EXPECT_EQ(RunOps("pool3d(X=x) -> (Out=y) {pooling_type=\"avg\", ksize=[2, 2, 2], "
                   "paddings=[1, 0, 0], exclusive=true, strides=[2, 1, 1]}",
                   kVolume),
            "y f32[1,1,2,1,1] 2.5 6.5\n");
}

TEST(PoolingOfVolumes, TellsThePlacesOfMaxima) {
  EXPECT_EQ(RunOps("max_pool3d_with_index(X=x) -> (Out=y, Mask=m) {ksize=[1, 2, 2]}", kVolume),
            "m i32[1,1,2,1,1] 3 7\ny f32[1,1,2,1,1] 4 8\n");
  EXPECT_EQ(RunOps("max_pool2d_with_index(X=x) -> (Out=y, Mask=m) {ksize=[2, 2]}",
                   "x f32[1,1,2,3] 7 7 1 2 3 9\n"),
            "m i32[1,1,1,2] 0 5\ny f32[1,1,1,2] 7 9\n");
}

TEST(ResponseNorm, DividesByTheNeighboursSquares) {
  EXPECT_EQ(RunOps("lrn(X=x) -> (Out=y, MidOut=m) {n=3, k=1.0, alpha=1.0, beta=1.0}",
                   "x f32[1,3,1,1] 1 2 4\n"),
            "m f32[1,3,1,1] 6 22 21\n"
            "y f32[1,3,1,1] 0.166666672 0.0909090936 0.190476194\n");
}

TEST(HuberLoss, IsLinearFarFromZero) {
  EXPECT_EQ(RunOps("huber_loss(X=x, Y=y) -> (Out=o, Residual=r) {delta=1.0}",
                   "x f32[3] 0 0 0\ny f32[3] 0.5 3 -2\n"),
            "o f32[3] 0.125 2.5 1.5\nr f32[3] 0.5 3 -2\n");
}

}  // namespace
}  // namespace fixpoint::reference
