// If the standard library runs out of memory for an archive of arrays, the result is a status. In
// this program it has no memory for more than `most_bytes` at once.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/npz.h"
#include "runtime/tensor.h"
#include "tests/testing/temporary_folder.h"

namespace {

size_t most_bytes = SIZE_MAX;

}  // namespace

void* operator new(size_t bytes) {
  void* const memory = bytes <= most_bytes ? std::malloc(bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace fixpoint {
namespace {

class NpzMemory : public testing::Test {
 protected:
  NpzMemory() { scope_.Set(std::string(60000, 'x'), Tensor::FromValues<int8_t>({1}, {7})); }
  ~NpzMemory() override { most_bytes = SIZE_MAX; }

  static void AllowFewBytes() { most_bytes = 30000; }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("x.npz");
  Scope scope_;
};

TEST_F(NpzMemory, ThatIsNotThereIsNoExceptionWhereOneIsRead) {
  {
    absl::StatusOr<AtomicFile> file = StageNpz(scope_, path_);
    ASSERT_TRUE(file.ok() && file->Commit().ok()) << file.status();
  }
  const std::string bytes = folder_.Read("x.npz");
  AllowFewBytes();
  EXPECT_EQ(LoadNpz(path_).status(),
            absl::FailedPreconditionError(absl::StrCat("there is no memory for ", path_)));
  EXPECT_EQ(ParseNpz(bytes, "y.npz").status(),
            absl::FailedPreconditionError("there is no memory for y.npz"));
}

TEST_F(NpzMemory, ThatIsNotThereIsNoExceptionWhereOneIsWritten) {
  AllowFewBytes();
  EXPECT_EQ(StageNpz(scope_, path_).status(),
            absl::FailedPreconditionError(
                absl::StrCat(path_, ": there is no memory for an archive of arrays")));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace fixpoint
