// Any bytes as a combined file of three parameters, and as a stream of selected rows: what is
// accepted reads the same after it is written.

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/byte_reader.h"
#include "runtime/parameter_file.h"
#include "runtime/tensor_stream.h"
#include "tests/fuzz/memory_file.h"

namespace fixpoint {
namespace {

ProgramDesc ThreeParameters() {
  ProgramDesc program;
  BlockDesc* block = program.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  for (const char* name : {"any", "pair", "rows"}) {
    VarDesc* var = block->add_vars();
    var->set_name(name);
    var->set_persistable(true);
    var->mutable_type()->set_type(VarType::LOD_TENSOR);
    auto* tensor = var->mutable_type()->mutable_lod_tensor()->mutable_tensor();
    tensor->set_data_type(VarType::FP32);
    if (var->name() == "pair") tensor->add_dims(2);
    if (var->name() == "rows") {
      tensor->add_dims(-1);
      tensor->add_dims(3);
    }
  }
  return program;
}

void AppendData(const Tensor& tensor, std::string* out) {
  const absl::Span<const uint8_t> bytes = tensor.bytes();
  out->append(bytes.begin(), bytes.end());
}

// Values are compared, not bytes: a file may have packed dims, which are written unpacked.
void CheckCombined(absl::string_view input) {
  static const MemoryFile& file = *new MemoryFile;
  const ProgramDesc program = ThreeParameters();
  const absl::StatusOr<Scope> scope = LoadParameters(program, file.PathTo(input));
  if (!scope.ok()) return;
  std::string written;
  for (const auto& [name, value] : *scope) {
    const auto& tensor = std::get<Tensor>(value);
    written += TensorStreamHeader(tensor);
    AppendData(tensor, &written);
  }
  const absl::StatusOr<Scope> reread = LoadParameters(program, file.PathTo(written));
  CHECK(reread.ok()) << reread.status();
  for (const auto& [name, value] : *scope) {
    const auto& first = std::get<Tensor>(value);
    const auto& second = std::get<Tensor>(*reread->FindOrNull(name));
    CHECK(first.dtype() == second.dtype() && first.dims() == second.dims() &&
          first.lod() == second.lod() && first.bytes() == second.bytes());
  }
}

void CheckSelectedRows(absl::string_view input) {
  ByteReader reader = ByteReader::Over(input);
  absl::StatusOr<SelectedRowsHeader> header = ReadSelectedRowsHeader(reader);
  if (!header.ok()) return;
  const absl::StatusOr<SelectedRows> rows = ReadSelectedRowsData(*std::move(header), reader);
  if (!rows.ok()) return;
  const std::string written = SelectedRowsStreamHeader(*rows);
  ByteReader again = ByteReader::Over(written);
  const absl::StatusOr<SelectedRowsHeader> reread = ReadSelectedRowsHeader(again);
  CHECK(reread.ok()) << reread.status();
  CHECK(reread->rows == rows->rows && reread->height == rows->height &&
        reread->value.dims == rows->value.dims());
}

}  // namespace
}  // namespace fixpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  fixpoint::CheckCombined(input);
  fixpoint::CheckSelectedRows(input);
  return 0;
}
