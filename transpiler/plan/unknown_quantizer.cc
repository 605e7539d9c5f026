#include "transpiler/plan/unknown_quantizer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/nearest_name.h"

namespace fixpoint {

std::string UnknownQuantizer(absl::string_view name, const QuantizerTable& quantizers) {
  std::vector<std::string> known;
  for (const auto& quantizer : quantizers.all()) known.emplace_back(quantizer->name());
  return absl::StrCat("there is no quantizer \"", name, "\"",
                      OfferNames(name, known, known.size()));
}

}  // namespace fixpoint
