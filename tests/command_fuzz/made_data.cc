#include "tests/command_fuzz/made_data.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "runtime/npy.h"
#include "runtime/parameter_file.h"
#include "runtime/tensor_stream.h"

namespace fixpoint {
namespace {

constexpr int64_t kMostElements = 200000;

int64_t SizeOrTooMany(const std::vector<int64_t>& dims) {
  const absl::StatusOr<int64_t> size = TensorSize(dims);
  return size.ok() ? *size : kMostElements + 1;
}

float AnyFloat(bool positive, Random* random) {
  if (random->OneIn(2000)) return positive ? 0.0f : 1e20f;
  const float value = static_cast<float>(random->Below(2001) - 1000) / 500.0f;
  return positive ? std::abs(value) + 0.01f : value;
}

// The bits of small numbers of the type.
void Fill(bool positive, Random* random, Tensor* tensor) {
  if (tensor->dtype() == VarType::FP32) {
    for (float& value : tensor->mutable_data<float>()) value = AnyFloat(positive, random);
    return;
  }
  const absl::Span<uint8_t> bytes = tensor->mutable_bytes();
  std::fill(bytes.begin(), bytes.end(), 0);
  const size_t width = std::max<size_t>(ElementSize(tensor->dtype()), 1);
  const int largest = tensor->dtype() == VarType::BOOL || !random->OneIn(3) ? 2 : 100;
  for (size_t i = 0; i + width <= bytes.size(); i += width) {
    bytes[i] = static_cast<uint8_t>(random->Below(largest));
    if (tensor->dtype() == VarType::INT8) bytes[i] = static_cast<uint8_t>(random->Below(256));
  }
}

std::vector<int64_t> Closed(std::vector<int64_t> dims, Random* random) {
  const int64_t open = 1 + random->Below(4);
  for (int64_t& extent : dims) {
    if (extent < 0) extent = open;
  }
  return dims;
}

std::optional<Tensor> MakeTensor(VarType::Type dtype, const std::vector<int64_t>& dims,
                                 bool positive, Random* random) {
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(dtype, dims);
  if (!tensor.ok()) return std::nullopt;
  Fill(positive, random, &*tensor);
  return *std::move(tensor);
}

bool IsScale(const std::string& name) {
  for (const char* part : {"scale", "variance", "moving_var", "accum", "state", ".s"}) {
    if (absl::StrContains(name, part)) return true;
  }
  return false;
}

std::string StreamOf(const Tensor& tensor) {
  return absl::StrCat(TensorStreamHeader(tensor),
                      absl::string_view(reinterpret_cast<const char*>(tensor.bytes().data()),
                                        tensor.bytes().size()));
}

bool StaysInItsFolder(const std::string& name) {
  if (name.size() >= 200 || name.find('\0') != std::string::npos) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  return std::none_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

// Whether the name is also a folder that another name needs: "a" beside "a/b".
bool IsFolderOfAnother(const std::string& name, const std::map<std::string, Tensor>& parameters) {
  const std::string prefix = name + "/";
  const auto next = parameters.lower_bound(prefix);
  return next != parameters.end() && absl::StartsWith(next->first, prefix);
}

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Pixels(int count, Random* random) {
  std::string pixels(count, '\0');
  for (char& pixel : pixels) pixel = static_cast<char>(random->Below(256));
  return pixels;
}

}  // namespace

std::optional<std::map<std::string, Tensor>> MakeParameters(const ProgramDesc& program,
                                                            const Scope& known, Random* random) {
  std::map<std::string, Tensor> made;
  int64_t elements = 0;
  for (const ParameterInfo& info : ParametersOf(program)) {
    if (const Scope::Value* value = known.FindOrNull(info.name);
        value != nullptr && std::holds_alternative<Tensor>(*value)) {
      absl::StatusOr<Tensor> copy = std::get<Tensor>(*value).Clone();
      if (copy.ok()) made.emplace(info.name, *std::move(copy));
      continue;
    }
    const std::vector<int64_t> dims = Closed(info.dims, random);
    const int64_t size = SizeOrTooMany(dims);
    if (size > kMostElements - elements) return std::nullopt;
    elements += size;
    std::optional<Tensor> tensor = MakeTensor(info.dtype, dims, IsScale(info.name), random);
    if (tensor.has_value()) made.emplace(info.name, *std::move(tensor));
  }
  return made;
}

Files CombinedFile(const std::map<std::string, Tensor>& parameters, const std::string& path) {
  std::string bytes;
  for (const auto& [name, tensor] : parameters) bytes += StreamOf(tensor);
  return {{path, bytes}};
}

Files SeparateFiles(const std::map<std::string, Tensor>& parameters, const std::string& folder) {
  Files files;
  for (const auto& [name, tensor] : parameters) {
    const bool is_folder = IsFolderOfAnother(name, parameters);
    if (StaysInItsFolder(name) && !is_folder) {
      files[absl::StrCat(folder, "/", name)] = StreamOf(tensor);
    }
  }
  return files;
}

std::optional<std::string> MakeArray(VarType::Type dtype, const std::vector<int64_t>& dims,
                                     Random* random) {
  const std::vector<int64_t> closed = Closed(dims, random);
  if (SizeOrTooMany(closed) > kMostElements) return std::nullopt;
  const std::optional<Tensor> tensor = MakeTensor(dtype, closed, false, random);
  if (!tensor.has_value()) return std::nullopt;
  const absl::StatusOr<std::string> array = NpyBytes(*tensor);
  if (!array.ok()) return std::nullopt;
  return *array;
}

Files MakeMnist(const std::string& folder, Random* random) {
  Files files;
  for (const auto& [set, count] : {std::pair<const char*, int>{"train", 24}, {"t10k", 8}}) {
    std::string images = BigEndian(0x803) + BigEndian(count) + BigEndian(28) + BigEndian(28);
    images += Pixels(count * 28 * 28, random);
    std::string labels = BigEndian(0x801) + BigEndian(count);
    for (int i = 0; i < count; ++i) labels.push_back(static_cast<char>(random->Below(10)));
    files[absl::StrCat(folder, "/", set, "-images-idx3-ubyte")] = std::move(images);
    files[absl::StrCat(folder, "/", set, "-labels-idx1-ubyte")] = std::move(labels);
  }
  return files;
}

Files MakeCifar10(const std::string& folder, Random* random) {
  Files files;
  for (const auto& [name, count] :
       {std::pair<const char*, int>{"data_batch_1.bin", 12}, {"test_batch.bin", 4}}) {
    std::string& records = files[absl::StrCat(folder, "/", name)];
    for (int i = 0; i < count; ++i) {
      records.push_back(static_cast<char>(random->Below(10)));
      records += Pixels(3072, random);
    }
  }
  return files;
}

}  // namespace fixpoint
