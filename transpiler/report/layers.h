// The ops of a report that people ask about: what became of each, and which are the worst.

#ifndef FIXPOINT_TRANSPILER_REPORT_LAYERS_H_
#define FIXPOINT_TRANSPILER_REPORT_LAYERS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/config/run_report.pb.h"

namespace fixpoint {

enum class OpState {
  kIntegers,   // computed on integers in the lowered program
  kQuantized,  // it reads quantized values; nothing is said of a lowered program
  kEdge,       // between floats and codes
  kFloat,      // it could be quantized, and is not
  kUndecided,  // none of its inputs can be quantized
};
OpState StateOf(const RunReport::Op& op);
// "on integers".
absl::string_view StateText(OpState state);

// How many ops of the network are computed on integers or, if nothing is said of a lowered program,
// read quantized values; of those that do either or stay in float. Ops between floats and codes,
// and those that nothing was decided about, do not count.
struct QuantizedOps {
  int done = 0;
  int decided = 0;
  bool are_lowered = false;
};
QuantizedOps CountQuantizedOps(const RunReport& report);

// Why: the reason's code and meaning, the rule and what it is about. "" if nothing decided.
struct Why {
  std::string code;
  std::string meaning;
};
// Of the plan's decision, and of what lowering made of it.
Why WhyPlanned(const RunReport::Op& op);
Why WhyLowered(const RunReport::Op& op);

// Whether it was decided about or measured.
bool IsLayer(const RunReport::Op& op);

// Of layers, those with a measured loss first: the largest sensitivity, then the lowest ratio of
// signal to noise; then the others in program order. Indices of ops.
std::vector<int> LayersWorstFirst(const RunReport& report);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_REPORT_LAYERS_H_
