// inspect rows as a user runs it: a table becomes rows of codes, and these become a table again.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/npy.h"
#include "runtime/tensor.h"
#include "tests/testing/run_binary.h"
#include "tests/testing/temporary_folder.h"

namespace fixpoint {
namespace {

TEST(InspectRows, GiveBackWhatTheirCodesStandFor) {
  const struct {
    std::string format;
    std::string rows;          // what the tool says of them
    std::vector<float> table;  // that comes back
  } kCases[] = {
      {"fused8", "u8 [2, 12]", {-1, 254, 0, 1, 0, 1, 0.5019608f, 0.2509804f}},
      {"fused4_fp16", "u8 [2, 6]", {-1, 254, -1, -1, 0, 1, 0.5332031f, 0.26660156f}},
      {"paddle_dequant",
       "f32 [2, 3]",
       {-1, 253.00391f, -0.0039062f, 0.99218750f, 0, 0.99609375f, 0.5f, 0.25f}},
  };
  TemporaryFolder folder;
  const Tensor table = Tensor::FromValues<float>({2, 4}, {-1, 254, 0, 1, 0, 1, 0.5f, 0.25f});
  folder.Write("t.npy", *NpyBytes(table));
  RunBinaryOptions options;
  options.callers_directory = folder.Path();
  for (const auto& c : kCases) {
    const std::string rows = "--rows=" + c.format;
    const BinaryRun encoded =
        RunBinary("tools/inspect", {"rows", "t.npy", rows, "--output=r.npy"}, options);
    EXPECT_EQ(encoded.out, "wrote r.npy: " + c.rows + "\n") << encoded.err;
    const BinaryRun decoded = RunBinary(
        "tools/inspect", {"rows", "r.npy", rows, "--decode", "--output=back.npy"}, options);
    EXPECT_EQ(decoded.out, "wrote back.npy: f32 [2, 4]\n") << decoded.err;
    const absl::StatusOr<Tensor> back = LoadNpy(folder.Path("back.npy"));
    ASSERT_TRUE(back.ok()) << back.status();
    for (size_t i = 0; i < c.table.size(); ++i) {
      EXPECT_NEAR(back->data<float>()[i], c.table[i], 1e-3f) << c.format << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace fixpoint
