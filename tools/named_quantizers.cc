#include "tools/named_quantizers.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/quantizers/text_quantizer.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"
#include "tools/command_line.h"

namespace fixpoint {
absl::StatusOr<NamedQuantizers> LoadQuantizers(const std::string& paths, QuantizerTable table) {
  NamedQuantizers named{std::move(table), {}};
  for (const std::string& path : SplitNames(paths)) {
    ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path, kMostPageBytes));
    ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Quantizer>> quantizers,
                     ReadQuantizers(text, InputName(path), [&named](absl::string_view name) {
                       return named.table.Find(name) != nullptr;
                     }));
    for (std::unique_ptr<Quantizer>& quantizer : quantizers) {
      const absl::Status added = named.table.Add(std::move(quantizer));
      if (!added.ok()) {
        return absl::Status(added.code(), absl::StrCat(InputName(path), ": ", added.message()));
      }
    }
    named.texts += text;
  }
  return named;
}

}  // namespace fixpoint
