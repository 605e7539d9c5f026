// Kernels whose primitives are left out while they are planned.

#include "runtime/kernels/deferred_primitives.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/kernels/layout.h"

namespace fixpoint::kernels {
namespace {

std::unique_ptr<LayoutConversion> Planned() {
  auto planned = LayoutConversion::Plan({1, 2, 1, 2}, 1, ImageOrder::kToChannelsLast);
  EXPECT_TRUE(planned.ok()) << planned.status();
  return *std::move(planned);
}

std::vector<uint8_t> ConvertedBy(LayoutConversion& conversion) {
  const std::vector<uint8_t> images = {1, 2, 3, 4};
  std::vector<uint8_t> converted(4);
  conversion.Run(images.data(), converted.data());
  return converted;
}

const std::vector<uint8_t> kConverted = {1, 3, 2, 4};

TEST(DeferredPrimitives, AreMadeOfKernelsThatAreStillThere) {
  const int64_t before = PrimitivesMade();
  DeferredPrimitives deferred;
  const std::unique_ptr<LayoutConversion> kept = Planned();
  std::unique_ptr<LayoutConversion> dropped = Planned();
  EXPECT_EQ(PrimitivesMade(), before);
  dropped = nullptr;
  ASSERT_TRUE(deferred.Make().ok());
  EXPECT_EQ(PrimitivesMade(), before + 1);
  EXPECT_EQ(ConvertedBy(*kept), kConverted);
  EXPECT_EQ(PrimitivesMade(), before + 1);
}

TEST(DeferredPrimitives, AreMadeWhereAKernelRunsBefore) {
  const int64_t before = PrimitivesMade();
  DeferredPrimitives deferred;
  const std::unique_ptr<LayoutConversion> conversion = Planned();
  EXPECT_EQ(ConvertedBy(*conversion), kConverted);
  ASSERT_TRUE(deferred.Make().ok());
  EXPECT_EQ(PrimitivesMade(), before + 1);
}

TEST(DeferredPrimitives, AreThoseOfTheObjectsLifeAlone) {
  const int64_t before = PrimitivesMade();
  std::unique_ptr<LayoutConversion> never_made;
  {
    DeferredPrimitives outer;
    {
      DeferredPrimitives inner;
      never_made = Planned();
    }
    const std::unique_ptr<LayoutConversion> of_outer = Planned();
    ASSERT_TRUE(outer.Make().ok());
    EXPECT_EQ(PrimitivesMade(), before + 1);
  }
  const std::unique_ptr<LayoutConversion> at_once = Planned();
  EXPECT_EQ(PrimitivesMade(), before + 2);
  EXPECT_EQ(ConvertedBy(*never_made), kConverted);
}

}  // namespace
}  // namespace fixpoint::kernels
