// The texts of the built-in quantizers, of ops/quantizers/texts.

#ifndef FIXPOINT_OPS_QUANTIZERS_BUILTIN_TEXTS_H_
#define FIXPOINT_OPS_QUANTIZERS_BUILTIN_TEXTS_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "ops/quantizers/quantizer_text.h"

namespace fixpoint {

// By name. Parsed once: tables of quantizers are made often.
const std::vector<std::shared_ptr<const QuantizerText>>& BuiltInTexts();

// Null if there is none of that name.
const QuantizerText* FindBuiltInText(absl::string_view name);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZERS_BUILTIN_TEXTS_H_
