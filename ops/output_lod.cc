#include "ops/output_lod.h"

#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ops/op_schema.h"
#include "proto/program/op.h"

namespace fixpoint {
namespace {

// The argument that a gradient belongs to; null if the op does not read it.
const Argument* SourceOf(const Argument& gradient) {
  absl::string_view source = gradient.slot_name();
  if (!absl::ConsumeSuffix(&source, kGradientSuffix)) return nullptr;
  const auto arguments = gradient.op().Inputs(source);
  const size_t index = static_cast<size_t>(gradient.index());
  return index < arguments.size() ? arguments[index] : nullptr;
}

}  // namespace

LoD OutputLod(const OpSchema& schema, const Argument& output, int64_t rows,
              const FindRows& find_rows) {
  if (const Argument* source = SourceOf(output); source != nullptr) {
    const std::optional<Rows> of_source = find_rows(*source);
    return of_source && of_source->count == rows ? *of_source->lod : LoD();
  }
  if (!schema.TakesLod(output.slot_name())) return {};
  for (const Argument* input : output.op().inputs()) {
    if (input->index() > 0) continue;
    const std::optional<Rows> of_input = find_rows(*input);
    if (!of_input || of_input->lod->empty()) continue;
    if (schema.pools_sequences()) return LoD(of_input->lod->begin(), of_input->lod->end() - 1);
    if (of_input->count == rows) return *of_input->lod;
  }
  return {};
}

}  // namespace fixpoint
