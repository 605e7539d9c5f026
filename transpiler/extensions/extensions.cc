#include "transpiler/extensions/extensions.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "transpiler/freeze/freeze_passes.h"
#include "transpiler/lower/lower_passes.h"
#include "transpiler/prepare/prepare_passes.h"
#include "transpiler/train/train_passes.h"

namespace fixpoint {
namespace {

// `what`: "pass".
absl::Status CheckName(absl::string_view what, absl::string_view name) {
  const bool is_word = std::all_of(name.begin(), name.end(),
                                   [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
  if (is_word && !name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", name, "\": want a name of letters, digits and underscores"));
}

absl::Status MakesNone(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("a ", what, " is added that is null"));
}

}  // namespace

absl::Status Extensions::AddPass(MakePass make) {
  const std::unique_ptr<Pass> pass = make();
  if (pass == nullptr) return MakesNone("pass");
  RETURN_IF_ERROR(CheckName("pass", pass->name()));
  for (PassTable& stage :
       std::array{TrainPasses(), PreparePasses(), FreezePasses(), LowerPasses()}) {
    RETURN_IF_ERROR(AddPassesTo(&stage));
    RETURN_IF_ERROR(stage.Add(make()));
  }
  passes_.push_back(std::move(make));
  return absl::OkStatus();
}

absl::Status Extensions::AddQuantizer(MakeQuantizer make) {
  std::unique_ptr<Quantizer> quantizer = make();
  if (quantizer == nullptr) return MakesNone("quantizer");
  RETURN_IF_ERROR(CheckName("quantizer", quantizer->name()));
  QuantizerTable quantizers = Quantizers();
  RETURN_IF_ERROR(quantizers.Add(std::move(quantizer)));
  quantizers_.push_back(std::move(make));
  return absl::OkStatus();
}

absl::Status Extensions::AddCheck(std::unique_ptr<TargetCheck> check) {
  if (check == nullptr) return MakesNone("check");
  RETURN_IF_ERROR(CheckName("check", check->name()));
  return checks_.Add(std::move(check));
}

absl::Status Extensions::AddPassesTo(PassTable* passes) const {
  for (const MakePass& make : passes_) RETURN_IF_ERROR(passes->Add(make()));
  return absl::OkStatus();
}

QuantizerTable Extensions::Quantizers() const {
  QuantizerTable quantizers;
  for (const MakeQuantizer& make : quantizers_) {
    const absl::Status added = quantizers.Add(make());
    CHECK(added.ok()) << added;  // it was added before
  }
  return quantizers;
}

}  // namespace fixpoint
