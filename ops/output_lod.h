// How offsets of sequences pass from an op's inputs to its outputs, whatever is declared.

#ifndef FIXPOINT_OPS_OUTPUT_LOD_H_
#define FIXPOINT_OPS_OUTPUT_LOD_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "ops/lod.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

class OpSchema;

// The first extent of a tensor, and the offsets that cut it.
struct Rows {
  int64_t count;
  const LoD* lod;
};

// The rows and offsets of an input; nothing for a scalar, or if it has no value.
using FindRows = std::function<std::optional<Rows>(const Argument& input)>;

// The offsets of an output of `rows` rows where the op does not give them itself, as
// select_from_step gives those of what it selects: by the first of these rules that holds.
//
//   S@GRAD, where the op reads S: those of S.
//   A slot that does not take them along (OpSchema::TakesLod): none.
//   An output of an op that pools sequences: those of its first input, without the last level.
//   Any other: those of the first input that has offsets, and as many rows; of a list, only its
//   first argument.
LoD OutputLod(const OpSchema& schema, const Argument& output, int64_t rows,
              const FindRows& find_rows);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_OUTPUT_LOD_H_
