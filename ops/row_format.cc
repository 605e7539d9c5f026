#include "ops/row_format.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/base/nearest_name.h"

namespace fixpoint {
namespace {

constexpr NamedRowFormat kFormats[] = {
    {"fused8", RowFormat::kFused8},          {"glow_fused8", RowFormat::kGlowFused8},
    {"fused8_fp16", RowFormat::kFused8Half}, {"fused4_fp16", RowFormat::kFused4Half},
    {"fused2_fp16", RowFormat::kFused2Half}, {kPaddleRows, RowFormat::kPaddleDequant},
};

}  // namespace

absl::Span<const NamedRowFormat> RowFormats() { return kFormats; }

absl::StatusOr<RowFormat> RowFormatOf(absl::string_view name) {
  std::vector<std::string> names;
  for (const NamedRowFormat& format : kFormats) {
    if (format.name == name) return format.format;
    names.emplace_back(format.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no format of rows \"", name, "\"",
                                                 OfferNames(name, names, names.size())));
}

absl::string_view NameOf(RowFormat format) {
  return std::find_if(std::begin(kFormats), std::end(kFormats),
                      [format](const NamedRowFormat& named) { return named.format == format; })
      ->name;
}

}  // namespace fixpoint
