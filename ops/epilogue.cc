#include "ops/epilogue.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/code_range.h"
#include "proto/base/status_macros.h"
#include "proto/program/attributes.h"

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

constexpr std::array<std::pair<Kind, absl::string_view>, 12> kNames = {{
    {Kind::kAddChannel, "add_channel"},
    {Kind::kMultiplyChannel, "multiply_channel"},
    {Kind::kAddElement, "add_element"},
    {Kind::kAddInt8, "add_int8"},
    {Kind::kAddUint8, "add_uint8"},
    {Kind::kMultiply, "multiply"},
    {Kind::kAdd, "add"},
    {Kind::kRound, "round"},
    {Kind::kRelu, "relu"},
    {Kind::kLeakyRelu, "leaky_relu"},
    {Kind::kHardSwish, "hard_swish"},
    {Kind::kClip, "clip"},
}};

constexpr char kStages[] = "epilogue";
constexpr char kA[] = "epilogue_a";
constexpr char kB[] = "epilogue_b";

// What a stage subtracts from codes has to be a code.
absl::Status CheckZeroPoint(const EpilogueStage& stage) {
  if (!stage.is_of_codes()) return absl::OkStatus();
  const CodeRange codes = CodesOfByte(stage.is_of_unsigned_codes());
  if (IsCode(stage.b, codes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the zero point of ", std::string(StageName(stage.kind)), " is ", stage.b,
                   "; want a code, ", codes.smallest, " to ", codes.largest));
}

}  // namespace

absl::string_view StageName(Kind kind) {
  return std::find_if(kNames.begin(), kNames.end(),
                      [kind](const auto& named) { return named.first == kind; })
      ->second;
}

std::optional<Kind> FindStage(absl::string_view name) {
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [name](const auto& named) { return named.second == name; });
  return found != kNames.end() ? std::optional(found->first) : std::nullopt;
}

absl::StatusOr<Epilogue> EpilogueOf(const OpDesc& op) {
  const auto names = StringsAttr(op, kStages).value_or(std::vector<std::string>());
  const auto a = FloatsAttr(op, kA).value_or(std::vector<double>());
  const auto b = FloatsAttr(op, kB).value_or(std::vector<double>());
  if (a.size() != names.size() || b.size() != names.size()) {
    return absl::InvalidArgumentError(absl::StrCat(kStages, " names ", names.size(), " stages, ",
                                                   kA, " has ", a.size(), " numbers and ", kB, " ",
                                                   b.size(), "; want one of each for each stage"));
  }
  Epilogue epilogue;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<Kind> kind = FindStage(names[i]);
    if (!kind) {
      return absl::InvalidArgumentError(
          absl::StrCat(kStages, " names \"", names[i], "\", which is no stage"));
    }
    const EpilogueStage stage = {*kind, static_cast<float>(a[i]), static_cast<float>(b[i])};
    RETURN_IF_ERROR(CheckZeroPoint(stage));
    epilogue.push_back(stage);
  }
  return epilogue;
}

void SetEpilogue(const Epilogue& epilogue, OpDesc* op) {
  std::vector<std::string> names;
  std::vector<float> a;
  std::vector<float> b;
  for (const EpilogueStage& stage : epilogue) {
    names.emplace_back(StageName(stage.kind));
    a.push_back(stage.a);
    b.push_back(stage.b);
  }
  SetAttr(MakeStringsAttr(kStages, names), op);
  SetAttr(MakeFloatsAttr(kA, a), op);
  SetAttr(MakeFloatsAttr(kB, b), op);
}

}  // namespace fixpoint
