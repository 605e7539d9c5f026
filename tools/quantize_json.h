// What `quantize --json` prints.

#ifndef FIXPOINT_TOOLS_QUANTIZE_JSON_H_
#define FIXPOINT_TOOLS_QUANTIZE_JSON_H_

#include <string>

#include "tools/quantize_command.h"
#include "transpiler/quantize/quantized_network.h"

namespace fixpoint {

// One document: what was quantized, found, measured and noted. Numbers of a metric are in the units
// of --max_drop.
std::string QuantizedJson(const QuantizeCommand& command, const QuantizedNetwork& network);

}  // namespace fixpoint

#endif  // FIXPOINT_TOOLS_QUANTIZE_JSON_H_
