#include "ops/quantizers/builtin_texts.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fixpoint {
namespace {

using Texts = std::vector<std::shared_ptr<const QuantizerText>>;

struct BuiltIn {
  const char* name;
  const char* text;
};
constexpr BuiltIn kBuiltIn[] = {
#include "ops/quantizers/builtin_texts.inc"
};

const QuantizerText* Find(const Texts& texts, absl::string_view name) {
  for (const auto& text : texts) {
    if (text->name == name) return text.get();
  }
  return nullptr;
}

// Reads a text after the one that it builds on.
void Read(const BuiltIn& built_in, Texts* texts) {
  if (Find(*texts, built_in.name) != nullptr) return;
  const auto find = [texts](absl::string_view name) {
    for (const BuiltIn& other : kBuiltIn) {
      if (other.name == name) Read(other, texts);
    }
    return Find(*texts, name);
  };
  auto parsed = ParseQuantizerTexts(built_in.text, absl::StrCat(built_in.name, ".txt"), find);
  CHECK(parsed.ok()) << parsed.status();
  for (QuantizerText& text : *parsed) {
    texts->push_back(std::make_shared<const QuantizerText>(std::move(text)));
  }
}

}  // namespace

const Texts& BuiltInTexts() {
  static const auto* const kTexts = [] {
    auto* texts = new Texts;
    for (const BuiltIn& built_in : kBuiltIn) Read(built_in, texts);
    std::sort(texts->begin(), texts->end(),
              [](const auto& a, const auto& b) { return a->name < b->name; });
    return texts;
  }();
  return *kTexts;
}

const QuantizerText* FindBuiltInText(absl::string_view name) { return Find(BuiltInTexts(), name); }

}  // namespace fixpoint
