// Networks whose composites are expanded into components (docs/composites.md).

#ifndef FIXPOINT_BENCHMARKS_COMPONENT_NETWORKS_H_
#define FIXPOINT_BENCHMARKS_COMPONENT_NETWORKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/networks.h"
#include "proto/program/program.h"

namespace fixpoint {

// Expands all composites, and forgets how: what follows has the result as its original.
void ExpandComposites(Program* program);

// Gives composites of these types back.
void RaiseComposites(const std::vector<std::string>& types, Program* program);

// An LSTM of 32 units that reads images [batch,1,size,size] row by row, a layer norm of its last
// state, and a product. If it is expanded, then before the backward pass, which goes through the
// components. Trained by Adam.
enum class Composites { kExpanded, kWhole };
Network BuildLstm(int64_t batch, int size, Composites composites = Composites::kExpanded);

}  // namespace fixpoint

#endif  // FIXPOINT_BENCHMARKS_COMPONENT_NETWORKS_H_
