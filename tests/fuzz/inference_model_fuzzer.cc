// Any program with any combined file of parameters, as a predictor loads them: refused, or run
// twice with one answer.
//
// An input is a program in any form, a line "----", and the parameters.

#include <glog/logging.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "runtime/parameter_file.h"
#include "runtime/predictor.h"
#include "runtime/scope.h"
#include "runtime/tensor.h"
#include "tests/fuzz/input_error.h"
#include "tests/fuzz/memory_file.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kSeparator = "\n----\n";
// Larger programs show nothing more, and are slow.
constexpr int64_t kMostElements = 1 << 12;
constexpr int64_t kMostBytesMoved = 1 << 22;

absl::StatusOr<Program> LoadSmallProgram(absl::string_view bytes) {
  ProgramFileLimits limits;
  limits.max_expanded_bytes = 1 << 20;
  ASSIGN_OR_RETURN(LoadedProgram loaded, ParseProgramBytes(bytes, "program", limits));
  return Program::Create(std::move(loaded.program), "program");
}

// A batch of two, with values of both signs, or with zeros. Error: a feed is large, or has no known
// shape.
absl::StatusOr<Tensor> MakeInput(const Program& program, const std::string& name) {
  const Variable* variable = program.Find(program.block(0), name);
  const VarType::TensorDesc* declared = variable != nullptr ? variable->tensor() : nullptr;
  if (declared == nullptr) return absl::InvalidArgumentError("no tensor is fed");
  std::vector<int64_t> dims(declared->dims().begin(), declared->dims().end());
  int64_t size = 1;
  for (int64_t& dim : dims) {
    if (dim < 0) dim = 2;
    if (dim > kMostElements || size * dim > kMostElements) {
      return absl::InvalidArgumentError("what is fed is large");
    }
    size *= dim;
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(declared->data_type(), std::move(dims)));
  std::fill(tensor.mutable_bytes().begin(), tensor.mutable_bytes().end(), 0);
  if (tensor.dtype() == VarType::FP32) {
    float value = -1;
    for (float& element : tensor.mutable_data<float>()) element = value = 0.7f - value;
  }
  return tensor;
}

absl::Status Predict(absl::string_view program_bytes, absl::string_view parameter_bytes) {
  static const MemoryFile& file = *new MemoryFile;
  ASSIGN_OR_RETURN(Program program, LoadSmallProgram(program_bytes));
  // A loop of the input may be endless.
  if (program.block_count() > 1) return absl::InvalidArgumentError("blocks are not run");
  ASSIGN_OR_RETURN(Scope scope, LoadParameters(program.Proto(), file.PathTo(parameter_bytes)));
  ASSIGN_OR_RETURN(std::unique_ptr<Predictor> predictor,
                   Predictor::Create(std::move(program), std::move(scope)));
  std::vector<Tensor> inputs;
  for (const std::string& name : predictor->inputs()) {
    ASSIGN_OR_RETURN(Tensor input, MakeInput(predictor->program(), name));
    inputs.push_back(std::move(input));
  }
  ASSIGN_OR_RETURN(const int64_t bytes, predictor->BytesMoved(inputs));
  if (bytes > kMostBytesMoved) return absl::InvalidArgumentError("values are large");
  ASSIGN_OR_RETURN(const std::vector<Tensor> first, predictor->Run(inputs));
  const absl::StatusOr<std::vector<Tensor>> second = predictor->Run(inputs);
  CHECK(second.ok()) << second.status();
  for (size_t i = 0; i < first.size(); ++i) CHECK(first[i].bytes() == (*second)[i].bytes());
  return absl::OkStatus();
}

}  // namespace
}  // namespace fixpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::LogSilencer names_need_not_be_utf8;
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t at = input.find(fixpoint::kSeparator);
  if (at == absl::string_view::npos) return 0;
  const absl::Status status =
      fixpoint::Predict(input.substr(0, at + 1), input.substr(at + fixpoint::kSeparator.size()));
  if (!status.ok()) fixpoint::CheckIsInputError(status);
  return 0;
}
