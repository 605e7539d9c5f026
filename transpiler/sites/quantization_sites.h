// The simulated quantizations of a program, whoever wrote them: found by op types and by values,
// never by names.

#ifndef FIXPOINT_TRANSPILER_SITES_QUANTIZATION_SITES_H_
#define FIXPOINT_TRANSPILER_SITES_QUANTIZATION_SITES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/code_range.h"
#include "ops/quantizer_table.h"
#include "proto/config/quant_spec.pb.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// One quantize op, and the ops that dequantize its codes.
struct QuantizationSite {
  const Op* quantize = nullptr;
  const Argument* input = nullptr;    // the value that is quantized
  const Argument* result = nullptr;   // its codes; for a fused op, the floats that they stand for
  bool fused = false;                 // the quantize op dequantizes too
  std::vector<const Op*> dequantize;  // the readers of the codes; none if fused

  const Quantizer* quantizer = nullptr;  // null: quantize_linear
  // Of the quantizer that wrote the op, though the table may not have it; "" for quantize_linear.
  std::string quantizer_name;
  QuantSpec parameters;  // only the parameters, and only for a dynamic one

  CodeRange codes;                  // its bits are the bit_length
  int axis = -1;                    // the channel axis, or -1: one scale for the whole tensor
  bool is_dynamic = false;          // the scale is found anew from each tensor
  bool is_affine = false;           // with a zero point
  const Argument* scale = nullptr;  // where it is read or, if dynamic, written

  // The ops that are removed when the site is rewritten.
  std::vector<const Op*> ops() const;
};

// The arguments by which ops that round to steps of sums, of biases (ops/bias_codes.h) and of sums
// that are requantized (ops/requantization.h), read the scale of a site.
std::vector<const Argument*> ScalesOfSums(const QuantizationSite& site);

// Whether the op computes codes, or the floats that they stand for: a quantize op of the table, or
// quantize_linear, which belongs to no quantizer.
bool IsQuantize(const Op& op, const QuantizerTable& quantizers);

// Whether a quantize op finds its range anew from each tensor in test mode too, so that is_test
// does not apply. A quantize_linear with a scale per channel does.
bool FindsItsRange(const Op& op, const QuantizerTable& quantizers);

// Every site, in program order. Ops of training are not expected: strip_training first.
// Errors: kInvalidArgument: a quantize op without its slots, or with a bit_length that is none; a
// dequantize op that takes more than the codes;
// kFailedPrecondition: codes that something else than a dequantize op of the same scale and the
// same codes reads.
absl::StatusOr<std::vector<QuantizationSite>> FindQuantizationSites(
    const Program& program, const QuantizerTable& quantizers);

// A sentence about the op by which the program shows that it is frozen already: a dequantize op
// whose codes no quantize op computes. "" where there is none.
std::string WhyFrozen(const Program& program, const QuantizerTable& quantizers);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_SITES_QUANTIZATION_SITES_H_
