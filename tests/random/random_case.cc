#include "tests/random/random_case.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "ops/infer.h"
#include "proto/text/program_text.h"
#include "runtime/reference/array.h"
#include "runtime/tensor.h"

namespace fixpoint::random_cases {
namespace {

const char* TypeText(VarType::Type dtype) {
  switch (dtype) {
    case VarType::BOOL:
      return "bool";
    case VarType::UINT8:
      return "u8";
    case VarType::INT8:
      return "i8";
    case VarType::INT16:
      return "i16";
    case VarType::INT32:
      return "i32";
    case VarType::INT64:
      return "i64";
    default:
      return "f32";
  }
}

Tensor TensorOf(VarType::Type dtype, const Dims& dims, const std::vector<double>& values) {
  reference::Array array(dtype, dims);
  CHECK_EQ(array.values.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) array.values[i] = reference::Rounded(values[i], dtype);
  return *reference::TensorOf(array);
}

}  // namespace

std::string RandomCase::Text() const {
  return absl::StrCat("program version=", era == Era::kPaddle2 ? "2006002" : "1008005",
                      "\nblock 0 {\n", declarations, ops, "}\n", blocks);
}

std::string FloatText(float value) {
  std::string text = absl::StrCat(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string FloatsText(const std::vector<float>& values) {
  std::vector<std::string> texts;
  for (const float value : values) texts.push_back(FloatText(value));
  return ListText(texts);
}

int64_t SizeOf(const Dims& dims) { return reference::Volume(dims); }

std::string DimsList(const Dims& dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

CaseMaker::CaseMaker(uint64_t seed) : random_(seed) {
  case_.era = OneIn(2) ? Era::kPaddle2 : Era::kFluid;
}

float CaseMaker::Between(float low, float high) {
  return low + (high - low) * static_cast<float>(random_.Below(1 << 20)) / (1 << 20);
}

Dims CaseMaker::SomeDims(int smallest_rank, int largest_rank, int largest) {
  Dims dims(Between(smallest_rank, largest_rank));
  for (int64_t& dim : dims) dim = OneIn(4) ? 1 : Between(1, largest);
  // Longer than a vector, with a tail.
  if (!dims.empty() && OneIn(6))
    dims[random_.Below(static_cast<int>(dims.size()))] = Between(15, 70);
  return dims;
}

int CaseMaker::SomeAxis(size_t rank) {
  const int axis = random_.Below(static_cast<int>(rank));
  return OneIn(3) ? axis - static_cast<int>(rank) : axis;
}

std::vector<int> CaseMaker::SomeAxes(size_t rank) {
  std::vector<int> axes;
  for (int axis = 0; axis < static_cast<int>(rank); ++axis) {
    if (OneIn(2)) axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back(random_.Below(static_cast<int>(rank)));
  return axes;
}

std::string CaseMaker::Add(const char* type, Tensor tensor) {
  const std::string name = absl::StrCat("in", ++inputs_);
  absl::StrAppend(&case_.declarations, "  var ", name, " ", type, "[",
                  absl::StrJoin(tensor.dims(), ","), OneIn(2) ? "] persistable\n" : "]\n");
  case_.inputs.Set(name, std::move(tensor));
  return name;
}

float CaseMaker::Number(int style, float magnitude) {
  switch (style) {
    case 0:  // ties
      return static_cast<float>(Between(-8, 8)) / 4;
    case 1:  // few that are not 0
      return OneIn(4) ? Between(-2.0f, 2.0f) : 0;
    default:
      return Between(-2.0f, 2.0f) * magnitude;
  }
}

std::string CaseMaker::Numbers(const Dims& dims) {
  const int style = Between(0, 9);
  const float magnitude = style == 2 ? std::pow(10.0f, static_cast<float>(Between(-3, 3))) : 1;
  std::vector<double> values(SizeOf(dims));
  for (double& value : values) value = Number(style, magnitude);
  return Add("f32", TensorOf(VarType::FP32, dims, values));
}

std::string CaseMaker::Numbers(const Dims& dims, float low, float high) {
  std::vector<double> values(SizeOf(dims));
  for (double& value : values) value = Between(low, high);
  return Add("f32", TensorOf(VarType::FP32, dims, values));
}

std::string CaseMaker::WideNumbers(const Dims& dims, int exponent) {
  if (OneIn(2)) return Numbers(dims);
  const double magnitude = std::pow(10.0, Between(-exponent, exponent));
  std::vector<double> values(SizeOf(dims));
  for (double& value : values) value = Between(-2.0f, 2.0f) * magnitude;
  return Add("f32", TensorOf(VarType::FP32, dims, values));
}

std::string CaseMaker::AnyNumbers(const Dims& dims) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> odd = {kInfinity, -kInfinity, NAN,    0.0f,   -0.0f, 1e-40f,
                                  -1e-42f,   1e-38f,     3e38f,  -3e38f, 1e20f, -1e20f,
                                  88.5f,     -88.5f,     104.0f, -104.0f};
  if (!OneIn(4)) return Numbers(dims);
  std::vector<double> values(SizeOf(dims));
  for (double& value : values) value = OneIn(3) ? OneOf(odd) : Between(-2.0f, 2.0f);
  return Add("f32", TensorOf(VarType::FP32, dims, values));
}

std::string CaseMaker::Floats(const Dims& dims, const std::vector<float>& values) {
  return Add("f32", TensorOf(VarType::FP32, dims, {values.begin(), values.end()}));
}

std::string CaseMaker::Integers(VarType::Type dtype, const Dims& dims, int64_t low, int64_t high) {
  std::vector<double> values(SizeOf(dims));
  for (double& value : values) {
    value = static_cast<double>(low + random_.Below(static_cast<int>(high - low + 1)));
  }
  return Add(TypeText(dtype), TensorOf(dtype, dims, values));
}

std::string CaseMaker::Codes(VarType::Type dtype, const Dims& dims, int low, int high) {
  std::vector<double> values(SizeOf(dims));
  const int style = Between(0, 5);
  for (double& value : values) {
    switch (style) {
      case 0:
        value = high;
        break;
      case 1:
        value = OneIn(2) ? low : high;
        break;
      case 2:
        value = OneIn(8) ? Between(low, high) : low;
        break;
      default:
        value = Between(low, high);
    }
  }
  return Add(TypeText(dtype), TensorOf(dtype, dims, values));
}

void CaseMaker::CutIntoSequences(const std::string& input) {
  Tensor& tensor = std::get<Tensor>(*case_.inputs.FindOrNull(input));
  const auto rows = static_cast<uint64_t>(tensor.dims()[0]);
  std::vector<uint64_t> offsets = {0};
  while (offsets.back() < rows) {
    const auto left = static_cast<int>(rows - offsets.back());
    offsets.push_back(offsets.back() + (OneIn(8) ? 0 : Between(1, left)));
  }
  tensor.set_lod({offsets});
}

void CaseMaker::CutAt(const std::string& input, std::vector<uint64_t> offsets) {
  std::get<Tensor>(*case_.inputs.FindOrNull(input)).set_lod({std::move(offsets)});
}

void CaseMaker::MakeOneSequence(const std::string& input) {
  Tensor& tensor = std::get<Tensor>(*case_.inputs.FindOrNull(input));
  tensor.set_lod({{0, static_cast<uint64_t>(tensor.dims()[0])}});
}

const Tensor& CaseMaker::Input(const std::string& name) const {
  return std::get<Tensor>(*case_.inputs.FindOrNull(name));
}

void CaseMaker::Persist(const std::string& input) {
  const size_t begin = case_.declarations.find(absl::StrCat("var ", input, " "));
  CHECK_NE(begin, std::string::npos) << input;
  const size_t end = case_.declarations.find('\n', begin);
  if (absl::EndsWith(case_.declarations.substr(begin, end - begin), "persistable")) return;
  case_.declarations.insert(end, " persistable");
}

Dims CaseMaker::OutputDims(const std::string& op,
                           const std::vector<std::pair<std::string, Dims>>& others) const {
  std::string text;
  for (const auto& [name, dims] : others) {
    absl::StrAppend(&text, "var ", name, " f32", DimsList(dims), "\n");
  }
  absl::StrAppend(&text, case_.declarations, op, "\n");  // the first declaration counts
  const absl::StatusOr<ProgramDesc> desc = ParseProgramText(text, "op.txt");
  CHECK(desc.ok()) << desc.status() << "\n" << text;
  const BlockDesc& block = desc->blocks(0);
  const auto outputs = InferOutputs(block.ops(0), case_.era, [&](absl::string_view name) {
    const auto var = std::find_if(block.vars().begin(), block.vars().end(),
                                  [&](const VarDesc& var) { return var.name() == name; });
    return var != block.vars().end() ? &*var : nullptr;
  });
  CHECK(outputs.ok()) << outputs.status() << "\n" << text;
  return *outputs->front().dims;
}

}  // namespace fixpoint::random_cases
