#include "tests/testing/parameter_text.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace fixpoint {
namespace {

constexpr char kLod[] = "lod=";

template <typename T>
std::optional<Tensor> TensorOf(const std::vector<int64_t>& dims,
                               const std::vector<absl::string_view>& words) {
  absl::InlinedVector<T, 8> values;  // no bits of a std::vector<bool>
  for (const absl::string_view word : words) {
    double value;
    if (!absl::SimpleAtod(word, &value)) return std::nullopt;
    values.push_back(static_cast<T>(value));
  }
  const absl::StatusOr<int64_t> size = TensorSize(dims);
  if (!size.ok() || *size != static_cast<int64_t>(values.size())) return std::nullopt;
  return Tensor::FromValues<T>(dims, values);
}

// "lod={0,2,3}{0,1,2,5}", outermost level first.
std::optional<LoD> ParseLod(absl::string_view word) {
  LoD lod;
  for (absl::string_view level :
       absl::StrSplit(absl::StripPrefix(word, kLod), '{', absl::SkipEmpty())) {
    if (!absl::ConsumeSuffix(&level, "}")) return std::nullopt;
    std::vector<uint64_t>& offsets = lod.emplace_back();
    for (const absl::string_view offset : absl::StrSplit(level, ',')) {
      if (!absl::SimpleAtoi(offset, &offsets.emplace_back())) return std::nullopt;
    }
  }
  return lod;
}

std::string LodText(const LoD& lod) {
  if (lod.empty()) return "";
  std::string text = kLod;
  for (const std::vector<uint64_t>& level : lod) {
    absl::StrAppend(&text, "{", absl::StrJoin(level, ","), "}");
  }
  return text + " ";
}

std::optional<std::pair<std::string, Tensor>> ParseLine(absl::string_view line) {
  std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() < 2) return std::nullopt;
  const std::vector<absl::string_view> type_and_dims = absl::StrSplit(words[1], '[');
  if (type_and_dims.size() != 2) return std::nullopt;
  std::vector<int64_t> dims;
  for (const absl::string_view extent :
       absl::StrSplit(absl::StripSuffix(type_and_dims[1], "]"), ',', absl::SkipEmpty())) {
    if (!absl::SimpleAtoi(extent, &dims.emplace_back())) return std::nullopt;
  }
  const absl::string_view type = type_and_dims[0];
  const std::string name(words[0]);
  words.erase(words.begin(), words.begin() + 2);
  std::optional<LoD> lod = LoD();
  if (!words.empty() && absl::StartsWith(words[0], kLod)) {
    lod = ParseLod(words[0]);
    words.erase(words.begin());
  }
  std::optional<Tensor> tensor;
  if (type == "f32") tensor = TensorOf<float>(dims, words);
  if (type == "f64") tensor = TensorOf<double>(dims, words);
  if (type == "bool") tensor = TensorOf<bool>(dims, words);
  if (type == "u8") tensor = TensorOf<uint8_t>(dims, words);
  if (type == "i8") tensor = TensorOf<int8_t>(dims, words);
  if (type == "i16") tensor = TensorOf<int16_t>(dims, words);
  if (type == "i32") tensor = TensorOf<int32_t>(dims, words);
  if (type == "i64") tensor = TensorOf<int64_t>(dims, words);
  if (!tensor.has_value() || !lod.has_value()) return std::nullopt;
  tensor->set_lod(*std::move(lod));
  return std::make_pair(name, *std::move(tensor));
}

template <typename T>
std::string Values(const Tensor& tensor, absl::string_view type) {
  return absl::StrCat(type, "[", absl::StrJoin(tensor.dims(), ","), "] ", LodText(tensor.lod()),
                      absl::StrJoin(tensor.data<T>(), " ", [](std::string* out, T value) {
                        absl::StrAppendFormat(out, "%.9g", static_cast<double>(value));
                      }));
}

std::string TypedValues(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case VarType::FP32:
      return Values<float>(tensor, "f32");
    case VarType::FP64:
      return Values<double>(tensor, "f64");
    case VarType::BOOL:
      return Values<bool>(tensor, "bool");
    case VarType::UINT8:
      return Values<uint8_t>(tensor, "u8");
    case VarType::INT8:
      return Values<int8_t>(tensor, "i8");
    case VarType::INT16:
      return Values<int16_t>(tensor, "i16");
    case VarType::INT32:
      return Values<int32_t>(tensor, "i32");
    case VarType::INT64:
      return Values<int64_t>(tensor, "i64");
    default:
      return VarType::Type_Name(tensor.dtype());
  }
}

}  // namespace

absl::StatusOr<Scope> ParseParameters(absl::string_view text, absl::string_view name) {
  Scope scope;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    auto parameter = ParseLine(line);
    if (!parameter.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": \"", line, "\" is not a parameter; want one like `w f32[2,2] 0.5 -1 2 nan`"));
    }
    scope.Set(parameter->first, std::move(parameter->second));
  }
  return scope;
}

std::string PrintParameters(const Scope& scope) {
  std::string text;
  for (const auto& [name, value] : scope) {
    absl::StrAppend(&text, name, " ", TypedValues(std::get<Tensor>(value)), "\n");
  }
  return text;
}

}  // namespace fixpoint
