// Who quantized a program, and with which ops.

#ifndef FIXPOINT_TRANSPILER_REPORT_QUANTIZATION_SUMMARY_H_
#define FIXPOINT_TRANSPILER_REPORT_QUANTIZATION_SUMMARY_H_

#include <string>
#include <vector>

#include "proto/program/program_fwd.h"

namespace fixpoint {

struct QuantizationSummary {
  // "Fixpoint, target paddle_2_6"; "PaddlePaddle's QuantizeTranspiler", "... static graph passes"
  // or "... dygraph layers", recognised by names and attributes; "another tool". Without a
  // quantizer, "Fixpoint" if it changed the program in another way, else "".
  std::string writer;
  // Ops that quantize or observe, and those that dequantize stored codes or a product of codes;
  // in the order of their first op.
  struct Count {
    std::string op_type;
    int bits = 0;  // 0: the op does not declare it
    int weights = 0;
    int activations = 0;
  };
  std::vector<Count> counts;
};

// Linear in the program.
QuantizationSummary SummarizeQuantization(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_QUANTIZATION_SUMMARY_H_
