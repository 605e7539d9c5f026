#include "runtime/parameter_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ops/dims.h"
#include "proto/base/nearest_name.h"
#include "proto/base/status_macros.h"
#include "proto/file/atomic_file.h"
#include "proto/program/tensor_desc.h"
#include "runtime/byte_reader.h"
#include "runtime/error_place.h"
#include "runtime/guarded_call.h"
#include "runtime/memory.h"
#include "runtime/staged_directory.h"
#include "runtime/tensor_stream.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

std::string Variable(const ParameterInfo& parameter) {
  return absl::StrCat("variable ", Quoted(parameter.name), ": ");
}

std::string Counted(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// The dims that a program declares for selected rows: those of the tensor that they are a part of.
// REQUIRES: `dims`, those of the rows, are not empty.
std::vector<int64_t> WholeDims(int64_t height, std::vector<int64_t> dims) {
  dims[0] = height;
  return dims;
}

absl::Status CheckDims(const ParameterInfo& parameter, const std::vector<int64_t>& dims) {
  const std::vector<int64_t>& declared = parameter.dims;
  const bool agree =
      declared.empty() || std::equal(declared.begin(), declared.end(), dims.begin(), dims.end(),
                                     [](int64_t a, int64_t b) { return a < 0 || a == b; });
  if (agree) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the dims are ", DimsText(dims), "; the program declares ", DimsText(declared)));
}

// Reads one stream. The dims are compared before memory is allocated for the data.
absl::StatusOr<Scope::Value> ReadValue(const ParameterInfo& parameter, ByteReader& reader,
                                       MemoryBlock* block) {
  const uint64_t position = reader.position();
  const auto check = [&](const std::vector<int64_t>& dims) {
    return Prefixed(absl::StrCat("byte ", position, ": "), CheckDims(parameter, dims));
  };
  if (parameter.kind == VarType::SELECTED_ROWS) {
    ASSIGN_OR_RETURN(SelectedRowsHeader header, ReadSelectedRowsHeader(reader));
    RETURN_IF_ERROR(check(WholeDims(header.height, header.value.dims)));
    return ReadSelectedRowsData(std::move(header), reader);
  }
  ASSIGN_OR_RETURN(TensorHeader header, ReadTensorHeader(reader));
  RETURN_IF_ERROR(check(header.dims));
  return ReadTensorData(std::move(header), reader, block);
}

absl::Status CheckKinds(const std::vector<ParameterInfo>& parameters, bool combined) {
  for (const ParameterInfo& parameter : parameters) {
    const bool is_rows = parameter.kind == VarType::SELECTED_ROWS;
    if (is_rows && combined) {
      return absl::UnimplementedError(
          absl::StrCat(Variable(parameter),
                       "a combined parameter file cannot hold SELECTED_ROWS; use a folder with one "
                       "file per variable"));
    }
    if (!is_rows && parameter.kind != VarType::LOD_TENSOR) {
      return absl::UnimplementedError(
          absl::StrCat(Variable(parameter), "a persistable ", VarType::Type_Name(parameter.kind),
                       " has no parameter file; LOD_TENSOR and SELECTED_ROWS have"));
    }
  }
  return absl::OkStatus();
}

// A name that leads out of its folder, or to the program beside the parameters, is refused.
absl::Status CheckFileName(const ParameterInfo& parameter) {
  const std::vector<absl::string_view> parts = absl::StrSplit(parameter.name, '/');
  const bool is_path = std::none_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
  if (is_path && !absl::StrContains(parameter.name, '\0') && parameter.name != "__model__") {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      Variable(parameter),
      "the name cannot be that of a file in the folder; use a combined parameter file"));
}

absl::Status CheckFileNames(const std::vector<ParameterInfo>& parameters) {
  absl::btree_set<absl::string_view> names;
  for (const ParameterInfo& parameter : parameters) {
    RETURN_IF_ERROR(CheckFileName(parameter));
    names.insert(parameter.name);
  }
  for (const absl::string_view name : names) {
    const std::string folder = absl::StrCat(name, "/");
    const auto inside = names.lower_bound(folder);
    if (inside != names.end() && absl::StartsWith(*inside, folder)) {
      return absl::FailedPreconditionError(
          absl::StrCat("variable ", Quoted(name),
                       ": the name cannot be both that of a file and of the folder of ",
                       Quoted(*inside), "; use a combined parameter file"));
    }
  }
  return absl::OkStatus();
}

// What a file with these parameters holds, for the message that it does not.
std::string ListText(const std::vector<ParameterInfo>& parameters) {
  if (parameters.empty()) return "the program has no parameters, so it should be empty";
  if (parameters.size() == 1) {
    return absl::StrCat("it should hold ", Quoted(parameters[0].name), " alone");
  }
  return absl::StrCat("it should hold ", parameters.size(), " parameters, ",
                      Quoted(parameters.front().name), " to ", Quoted(parameters.back().name));
}

// The likely cause where a combined file holds too few tensors.
constexpr char kTooFew[] =
    "was it written for another program, or for this one before it was quantized?";

// How many tensors the file at `path` holds, and nothing else; 0 for a damaged one.
size_t CountTensors(const std::string& path) {
  absl::StatusOr<ByteReader> reader = ByteReader::Open(path);
  if (!reader.ok()) return 0;
  for (size_t count = 0;; ++count) {
    const absl::StatusOr<bool> at_end = reader->AtEnd();
    if (!at_end.ok() || *at_end) return at_end.ok() ? count : 0;
    absl::StatusOr<TensorHeader> header = ReadTensorHeader(*reader);
    if (!header.ok() || !ReadTensorData(*std::move(header), *reader).ok()) return 0;
  }
}

// `error`, the error for a combined file. If a tensor does not fit its declaration because the file
// holds more or fewer tensors than there are parameters, the message says that first.
absl::Status WithTensorCount(const absl::Status& error,
                             const std::vector<ParameterInfo>& parameters,
                             const std::string& path) {
  // A pipe cannot be read again.
  std::error_code ignored;
  if (error.code() != absl::StatusCode::kInvalidArgument || !fs::is_regular_file(path, ignored)) {
    return error;
  }
  const size_t count = CountTensors(path);
  if (count == 0 || count == parameters.size()) return error;
  return absl::InvalidArgumentError(
      absl::StrCat("holds ", Counted(count, "tensor"), "; ", ListText(parameters), "; ",
                   count < parameters.size() ? kTooFew : "was it written for another program?",
                   " (", error.message(), ")"));
}

absl::Status CheckEnd(const std::vector<ParameterInfo>& parameters, ByteReader& reader) {
  const uint64_t position = reader.position();
  ASSIGN_OR_RETURN(const bool at_end, reader.AtEnd());
  if (at_end) return absl::OkStatus();
  const absl::StatusOr<TensorHeader> next = ReadTensorHeader(reader);
  return absl::InvalidArgumentError(absl::StrCat(
      "byte ", position, ": ",
      next.ok() ? absl::StrCat("another tensor follows, ", VarType::Type_Name(next->dtype), " ",
                               DimsText(next->dims))
                : "bytes follow that are no tensor",
      "; ", ListText(parameters), "; was the file written for another program?"));
}

// The streams of the parameters in their order.
absl::StatusOr<Scope> ReadStreams(const std::vector<ParameterInfo>& parameters,
                                  ByteReader& reader) {
  Scope scope;
  // For a large file, an upper bound of the bytes of all tensors, with padding.
  const uint64_t bytes = reader.left().value_or(0);
  std::optional<MemoryBlock> block;
  if (bytes >= kHugePage) block.emplace(bytes + parameters.size() * kMemoryAlignment);
  for (const ParameterInfo& parameter : parameters) {
    ASSIGN_OR_RETURN(const bool at_end, reader.AtEnd());
    if (at_end) {
      return absl::DataLossError(
          absl::StrCat(Variable(parameter), "byte ", reader.position(), ": the file ends after ",
                       Counted(scope.size(), "tensor"), "; ", ListText(parameters),
                       scope.size() == 0 ? "" : absl::StrCat("; ", kTooFew)));
    }
    absl::StatusOr<Scope::Value> value = ReadValue(parameter, reader, block ? &*block : nullptr);
    if (!value.ok()) return Prefixed(Variable(parameter), value.status());
    scope.Set(parameter.name, *std::move(value));
  }
  return scope;
}

absl::StatusOr<Scope> ReadCombinedParameters(const ProgramDesc& program, const std::string& path) {
  ASSIGN_OR_RETURN(ByteReader reader, ByteReader::Open(path));
  const std::vector<ParameterInfo> parameters = ParametersOf(program);
  const std::string prefix = absl::StrCat(path, ": ");
  RETURN_IF_ERROR(Prefixed(prefix, CheckKinds(parameters, /*combined=*/true)));
  absl::StatusOr<Scope> scope = ReadStreams(parameters, reader);
  if (!scope.ok()) {
    return Prefixed(prefix, WithTensorCount(scope.status(), parameters, path));
  }
  RETURN_IF_ERROR(Prefixed(prefix, CheckEnd(parameters, reader)));
  return scope;
}

// Up to three files of the folder that no parameter names, which may be the ones that were meant.
std::string OtherFiles(const std::string& directory, const std::vector<ParameterInfo>& parameters) {
  absl::btree_set<std::string> others;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    others.insert(it->path().filename().string());
  }
  for (const ParameterInfo& parameter : parameters) others.erase(parameter.name);
  if (others.empty()) return "the folder has no other files";
  std::vector<std::string> quoted;
  for (const std::string& other : others) quoted.push_back(Quoted(other));
  return absl::StrCat("of other files the folder has ", FirstNames(quoted));
}

// The file of the folder that is named as combined files are; "" if there is none.
std::string CombinedFileIn(const std::string& directory) {
  std::error_code error;
  const fs::path fluid = fs::path(directory) / "__params__";
  if (fs::is_regular_file(fluid, error)) return fluid.string();
  absl::btree_set<std::string> found;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".pdiparams") found.insert(it->path().string());
  }
  return found.empty() ? "" : *found.begin();
}

absl::Status CheckAllThere(const std::string& directory,
                           const std::vector<ParameterInfo>& parameters) {
  std::vector<absl::string_view> missing;
  for (const ParameterInfo& parameter : parameters) {
    std::error_code error;
    if (!fs::exists(fs::path(directory) / parameter.name, error)) {
      missing.push_back(parameter.name);
    }
  }
  if (missing.empty()) return absl::OkStatus();
  const std::string combined =
      missing.size() == parameters.size() ? CombinedFileIn(directory) : std::string();
  return absl::NotFoundError(absl::StrCat(
      "there is no file for variable ", Quoted(missing[0]), " (", missing.size(), " of ",
      Counted(parameters.size(), "parameter"), " missing); ",
      combined.empty()
          ? OtherFiles(directory, parameters)
          : absl::StrCat("a combined file is named itself, not its folder: ", combined)));
}

absl::StatusOr<Scope> ReadSeparateParameters(const std::vector<ParameterInfo>& parameters,
                                             const std::string& directory) {
  const std::string prefix = absl::StrCat(directory, ": ");
  RETURN_IF_ERROR(Prefixed(prefix, CheckKinds(parameters, /*combined=*/false)));
  RETURN_IF_ERROR(Prefixed(prefix, CheckFileNames(parameters)));
  RETURN_IF_ERROR(Prefixed(prefix, CheckAllThere(directory, parameters)));
  Scope scope;
  for (const ParameterInfo& parameter : parameters) {
    const std::string file = (fs::path(directory) / parameter.name).string();
    ASSIGN_OR_RETURN(ByteReader reader, ByteReader::Open(file));
    absl::StatusOr<Scope> one = ReadStreams({parameter}, reader);
    const absl::Status status = one.ok() ? CheckEnd({parameter}, reader) : one.status();
    if (!status.ok()) return Prefixed(absl::StrCat(file, ": "), status);
    scope.Set(parameter.name, std::move(*one->FindOrNull(parameter.name)));
  }
  return scope;
}

// The value to write, which is of the program's kind and dims.
absl::StatusOr<const Scope::Value*> ValueToSave(const ParameterInfo& parameter,
                                                const Scope& scope) {
  const auto refused = [&](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat(Variable(parameter), why));
  };
  const Scope::Value* value = scope.FindOrNull(parameter.name);
  if (value == nullptr) return refused("it is not in the scope");
  const bool is_rows = std::holds_alternative<SelectedRows>(*value);
  if (is_rows != (parameter.kind == VarType::SELECTED_ROWS)) {
    return refused(absl::StrCat("the scope holds ", is_rows ? "SELECTED_ROWS" : "LOD_TENSOR",
                                "; the program declares ", VarType::Type_Name(parameter.kind)));
  }
  std::vector<int64_t> dims;
  if (is_rows) {
    const auto& [rows, height, rows_value] = std::get<SelectedRows>(*value);
    dims = rows_value.dims();
    if (dims.empty() || static_cast<uint64_t>(dims[0]) != rows.size()) {
      return refused(absl::StrCat("the dims of the rows are ", DimsText(dims), "; there are ",
                                  rows.size(), " row ids"));
    }
    dims = WholeDims(height, std::move(dims));
  } else {
    dims = std::get<Tensor>(*value).dims();
  }
  const absl::Status status = CheckDims(parameter, dims);
  if (!status.ok()) return refused(status.message());
  return value;
}

absl::Status AppendValue(const Scope::Value& value, AtomicFile& file) {
  const auto* selected = std::get_if<SelectedRows>(&value);
  const Tensor& tensor = selected != nullptr ? selected->value : std::get<Tensor>(value);
  RETURN_IF_ERROR(file.Append(selected != nullptr ? SelectedRowsStreamHeader(*selected)
                                                  : TensorStreamHeader(tensor)));
  const absl::Span<const uint8_t> bytes = tensor.bytes();
  return file.Append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// What to write for each parameter, all of it checked before a file is touched.
absl::StatusOr<std::vector<const Scope::Value*>> ValuesToSave(
    const std::vector<ParameterInfo>& parameters, const Scope& scope) {
  std::vector<const Scope::Value*> values;
  for (const ParameterInfo& parameter : parameters) {
    ASSIGN_OR_RETURN(const Scope::Value* value, ValueToSave(parameter, scope));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::vector<const Scope::Value*>> ValuesOfCombinedFile(const ProgramDesc& program,
                                                                      const Scope& scope) {
  const std::vector<ParameterInfo> parameters = ParametersOf(program);
  RETURN_IF_ERROR(CheckKinds(parameters, /*combined=*/true));
  return ValuesToSave(parameters, scope);
}

}  // namespace

std::vector<ParameterInfo> ParametersOf(const ProgramDesc& program) {
  absl::btree_map<absl::string_view, const VarDesc*> by_name;
  for (const BlockDesc& block : program.blocks()) {
    for (const VarDesc& var : block.vars()) {
      switch (var.type().type()) {
        case VarType::FEED_MINIBATCH:
        case VarType::FETCH_LIST:
        case VarType::READER:
        case VarType::RAW:
          continue;
        default:
          if (var.persistable()) by_name.emplace(var.name(), &var);
      }
    }
  }
  std::vector<ParameterInfo> parameters;
  for (const auto& [name, var] : by_name) {
    const VarType::TensorDesc* described = TensorOf(*var);
    const VarType::TensorDesc& tensor =
        described != nullptr ? *described : VarType::TensorDesc::default_instance();
    parameters.push_back({std::string(name),
                          var->type().type(),
                          tensor.data_type(),
                          {tensor.dims().begin(), tensor.dims().end()}});
  }
  return parameters;
}

absl::StatusOr<Scope> LoadParameters(const ProgramDesc& program, const std::string& path) {
  return GuardedCall(path, [&] {
    std::error_code error;
    return fs::is_directory(path, error) ? ReadSeparateParameters(ParametersOf(program), path)
                                         : ReadCombinedParameters(program, path);
  });
}

absl::StatusOr<Scope> LoadParametersThatAreThere(const ProgramDesc& program,
                                                 const std::string& directory) {
  const std::vector<ParameterInfo> all = ParametersOf(program);
  std::vector<ParameterInfo> there;
  std::copy_if(all.begin(), all.end(), std::back_inserter(there),
               [&](const ParameterInfo& parameter) {
                 std::error_code error;
                 return fs::is_regular_file(fs::path(directory) / parameter.name, error);
               });
  // If there is no file at all, the error names all parameters.
  return GuardedCall(
      directory, [&] { return ReadSeparateParameters(there.empty() ? all : there, directory); });
}

absl::Status CheckSeparateParameters(const ProgramDesc& program, const Scope& scope,
                                     const std::string& directory) {
  const std::vector<ParameterInfo> parameters = ParametersOf(program);
  RETURN_IF_ERROR(CheckKinds(parameters, /*combined=*/false));
  RETURN_IF_ERROR(CheckFileNames(parameters));
  for (const ParameterInfo& parameter : parameters) {
    RETURN_IF_ERROR(StagedDirectory::CheckFile(directory, parameter.name));
    if (scope.FindOrNull(parameter.name) == nullptr) continue;
    RETURN_IF_ERROR(ValueToSave(parameter, scope).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<AtomicFile> StageCombinedParameters(const ProgramDesc& program, const Scope& scope,
                                                   const std::string& file) {
  ASSIGN_OR_RETURN(const std::vector<const Scope::Value*> values,
                   ValuesOfCombinedFile(program, scope));
  ASSIGN_OR_RETURN(AtomicFile output, AtomicFile::Create(file));
  for (const Scope::Value* value : values) RETURN_IF_ERROR(AppendValue(*value, output));
  return output;
}

absl::Status WriteCombinedParameters(const ProgramDesc& program, const Scope& scope,
                                     const std::string& name, StagedDirectory* folder) {
  ASSIGN_OR_RETURN(const std::vector<const Scope::Value*> values,
                   ValuesOfCombinedFile(program, scope));
  ASSIGN_OR_RETURN(AtomicFile output, folder->CreateFile(name));
  for (const Scope::Value* value : values) RETURN_IF_ERROR(AppendValue(*value, output));
  return output.Commit();
}

absl::StatusOr<StagedDirectory> StageSeparateParameters(const ProgramDesc& program,
                                                        const Scope& scope,
                                                        const std::string& directory) {
  const std::vector<ParameterInfo> parameters = ParametersOf(program);
  RETURN_IF_ERROR(CheckKinds(parameters, /*combined=*/false));
  RETURN_IF_ERROR(CheckFileNames(parameters));
  ASSIGN_OR_RETURN(const std::vector<const Scope::Value*> values, ValuesToSave(parameters, scope));
  ASSIGN_OR_RETURN(StagedDirectory staged, StagedDirectory::Create(directory));
  for (size_t i = 0; i < parameters.size(); ++i) {
    ASSIGN_OR_RETURN(AtomicFile output, staged.CreateFile(parameters[i].name));
    RETURN_IF_ERROR(AppendValue(*values[i], output));
    RETURN_IF_ERROR(output.Commit());
  }
  return staged;
}

}  // namespace fixpoint
