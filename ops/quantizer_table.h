// The quantizers by name, and by the ops that they write.

#ifndef FIXPOINT_OPS_QUANTIZER_TABLE_H_
#define FIXPOINT_OPS_QUANTIZER_TABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ops/era.h"
#include "ops/quantizer.h"
#include "proto/config/quant_spec.pb.h"

namespace fixpoint {

// The STRING attribute of an op that several quantizers write: which of them did.
inline constexpr char kQuantizerAttr[] = "fixpoint.quantizer";

// The quantizers that a transpile can use: the built-in ones, and a user's own.
class QuantizerTable {
 public:
  // The quantizers of all_quantizers.inc, and those of ops/quantizers/texts.
  QuantizerTable();
  QuantizerTable(QuantizerTable&&) = default;
  QuantizerTable& operator=(QuantizerTable&&) = default;

  // Error (kInvalidArgument): the name is taken, or the quantizer trains a state and does not meet
  // the requirements for that.
  absl::Status Add(std::unique_ptr<Quantizer> quantizer);
  // Null if there is none of that name.
  const Quantizer* Find(absl::string_view name) const;
  // In the order of the table.
  absl::Span<const std::unique_ptr<Quantizer>> all() const { return quantizers_; }
  // The quantizer and recipe that an op belongs to, by its type; nulls for any other op. If several
  // write one type, that which its attribute kQuantizerAttr names, or else the first: they agree on
  // its slots, and on whether it is dynamic.
  struct Match {
    const Quantizer* quantizer = nullptr;
    const QuantizerRecipe* recipe = nullptr;
  };
  Match FindByQuantizeOp(const OpDesc& op) const;
  Match FindByQuantizeOp(absl::string_view op_type) const;
  // Likewise for an op that only records a range.
  Match FindByObserveOp(absl::string_view op_type) const;

 private:
  std::vector<std::unique_ptr<Quantizer>> quantizers_;
};

// The slots in which the quantize op of a spec reads trained states, or what is computed from them;
// none if there is no such recipe.
std::vector<std::string> TrainedInputs(const QuantizerTable& quantizers, const QuantSpec& spec,
                                       Era era);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_QUANTIZER_TABLE_H_
