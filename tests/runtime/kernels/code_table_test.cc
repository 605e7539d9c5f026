// Tables of codes: every code has its entry, whatever instructions there are.

#include "runtime/kernels/code_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ops/code_range.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/integer_sums.h"

namespace fixpoint::kernels {
namespace {

// Every byte, again and again, in an order that is none of bytes.
std::vector<uint8_t> Bytes(int64_t size) {
  std::vector<uint8_t> bytes(size);
  for (int64_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 256);
  return bytes;
}

// No two entries are equal.
template <typename Entry>
std::vector<Entry> Table() {
  std::vector<Entry> table(kCodesInByte);
  for (int64_t i = 0; i < kCodesInByte; ++i) table[i] = static_cast<Entry>(i * 101 - 128);
  return table;
}

template <typename Entry>
void ExpectEntries(CodeType type) {
  const std::vector<Entry> table = Table<Entry>();
  for (const int64_t size : {0, 1, 15, 63, 64, 65, 1000}) {
    const std::vector<uint8_t> codes = Bytes(size);
    std::vector<Entry> out(size);
    LookUp(codes, type, table.data(), absl::MakeSpan(out));
    for (int64_t i = 0; i < size; ++i) {
      const int place = type == CodeType::kUint8 ? codes[i] : static_cast<int8_t>(codes[i]) + 128;
      ASSERT_EQ(out[i], table[place]) << i << " of " << size;
    }
  }
}

TEST(CodeTable, HasEntriesOfUnsignedCodes) {
  ExpectEntries<uint8_t>(CodeType::kUint8);
  ExpectEntries<int8_t>(CodeType::kUint8);
  ExpectEntries<float>(CodeType::kUint8);
}

TEST(CodeTable, HasEntriesOfSignedCodes) {
  ExpectEntries<uint8_t>(CodeType::kInt8);
  ExpectEntries<int8_t>(CodeType::kInt8);
  ExpectEntries<float>(CodeType::kInt8);
}

TEST(CodeTable, MayBeLookedUpInPlace) {
  const std::vector<uint8_t> table = Table<uint8_t>();
  const std::vector<uint8_t> codes = Bytes(300);
  std::vector<uint8_t> out = codes;
  LookUp(out, CodeType::kUint8, table.data(), absl::MakeSpan(out));
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], table[codes[i]]) << i;
}

}  // namespace
}  // namespace fixpoint::kernels
