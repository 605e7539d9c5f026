#include "transpiler/plan/unknown_quantizer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/nearest_name.h"

namespace fixpoint {

std::string UnknownQuantizer(absl::string_view name, const QuantizerTable& quantizers) {
  std::vector<std::string> known;
  for (const auto& quantizer : quantizers.all()) known.emplace_back(quantizer->name());
  const std::string unknown = absl::StrCat("there is no quantizer \"", name, "\"");
  const std::string meant = DidYouMean(name, known);
  if (!meant.empty()) return unknown + meant;
  return absl::StrCat(unknown, "; there are ", FirstNames(known, known.size()),
                      "; --quantizers=FILE adds those of a text");
}

}  // namespace fixpoint
