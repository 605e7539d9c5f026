#include "runtime/kernels/onednn_implementations.h"

#include <gtest/gtest.h>

namespace fixpoint::kernels {
namespace {

// oneDNN may have others for a shape, on the same machine, whose sums of pairs saturate.
TEST(OnednnImplementations, AddCodesOnlyByInstructionsThatAreExact) {
  for (const char* exact : {"brgconv:avx512_core_vnni", "jit_uni_int8:avx2_vnni",
                            "brg:avx512_core_amx", "brgconv_1x1:avx10_1_512"}) {
    EXPECT_TRUE(IsAllowed(OnednnUse::kSumsOfCodes, exact)) << exact;
  }
  for (const char* other : {"jit_uni_int8:avx2", "brgconv:avx512_core", "jit_uni_int8:sse41",
                            "gemm:jit", "ref:any", "vnni", ""}) {
    EXPECT_FALSE(IsAllowed(OnednnUse::kSumsOfCodes, other)) << other;
  }
}

TEST(OnednnImplementations, StoreSumsOnlyWithoutFloatsBetween) {
  for (const char* exact :
       {"brgconv:avx512_core_vnni", "brgconv_1x1:avx512_core_amx", "brg:avx2_vnni",
        "brgemm:avx512_core_vnni", "brdgmm_dw:avx512_core_vnni"}) {
    EXPECT_TRUE(IsAllowed(OnednnUse::kStoredSumsOfCodes, exact)) << exact;
  }
  for (const char* other : {"jit_int8:avx512_core_vnni", "jit_uni_int8:avx2_vnni",
                            "brgconv:avx512_core", "gemm:jit", "ref:any"}) {
    EXPECT_FALSE(IsAllowed(OnednnUse::kStoredSumsOfCodes, other)) << other;
  }
}

TEST(OnednnImplementations, HaveNoSlowOrOtherEpilogue) {
  for (const char* fast : {"brgconv:avx512_core", "jit:avx2", "jit_1x1:sse41", "brg:avx512_core"}) {
    EXPECT_TRUE(IsAllowed(OnednnUse::kFloatsWithEpilogue, fast)) << fast;
  }
  for (const char* other :
       {"ref:any", "ref_int8:any", "gemm:jit", "gemm:jit:f32", "x64:gemm:jit", "gemm:ref"}) {
    EXPECT_FALSE(IsAllowed(OnednnUse::kFloatsWithEpilogue, other)) << other;
  }
}

TEST(OnednnImplementations, OfGradientsAreAllButSlowAndBrokenOnes) {
  EXPECT_FALSE(IsAllowed(OnednnUse::kGradientOfImages, "brgconv_strided:avx512_core"));
  EXPECT_TRUE(IsAllowed(OnednnUse::kGradientOfImages, "brgconv:avx512_core"));
  EXPECT_TRUE(IsAllowed(OnednnUse::kGradientOfImages, "jit:avx512_core"));
  EXPECT_FALSE(IsAllowed(OnednnUse::kGradientOfSteppingFilters, "jit_1x1:avx2"));
  EXPECT_TRUE(IsAllowed(OnednnUse::kGradientOfSteppingFilters, "jit_1x1:avx512_core"));
  EXPECT_TRUE(IsAllowed(OnednnUse::kGradientOfSteppingFilters, "jit:avx2"));
}

// A description with so many implementations, of which the last alone is allowed.
class Implementations {
 public:
  explicit Implementations(int refused, const char* last) : refused_(refused), last_(last) {}

  const char* impl_info_str() const { return at_ < refused_ ? "jit_uni_int8:avx2" : last_; }
  bool next_impl() { return at_ < refused_ && ++at_ > 0; }

 private:
  const int refused_;
  const char* const last_;
  int at_ = 0;
};

TEST(OnednnImplementations, AreTriedUntilOneIsAllowed) {
  Implementations exact(2, "brgconv:avx512_core_vnni");
  EXPECT_TRUE(Choose(OnednnUse::kSumsOfCodes, &exact));
  EXPECT_STREQ(exact.impl_info_str(), "brgconv:avx512_core_vnni");
  Implementations none(2, "ref:any");
  EXPECT_FALSE(Choose(OnednnUse::kSumsOfCodes, &none));
}

}  // namespace
}  // namespace fixpoint::kernels
