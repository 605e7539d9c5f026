#include "ops/epilogue.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fixpoint {
namespace {

using Kind = EpilogueStage::Kind;

constexpr std::array<std::pair<Kind, absl::string_view>, 13> kNames = {{
    {Kind::kAddChannel, "add_channel"},
    {Kind::kMultiplyChannel, "multiply_channel"},
    {Kind::kRequantize, "requantize"},
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

}  // namespace fixpoint
