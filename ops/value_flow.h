// What becomes of a value in the ops that read it.

#ifndef FIXPOINT_OPS_VALUE_FLOW_H_
#define FIXPOINT_OPS_VALUE_FLOW_H_

#include <functional>
#include <string>
#include <vector>

#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether an op only moves the values of MovedInputs to other places in MovedOutputs, and computes
// none: reshape, transpose, concat, split, slice, maxima, padding by `zero`, which in codes is that
// of 0.
bool MovesValues(const Op& op, Era era, double zero = 0);

// What such an op moves, and where to, in the order of the slots (OpTraits::moved, moved_to).
// REQUIRES: the op has a schema with outputs.
std::vector<const Argument*> MovedInputs(const Op& op);
std::vector<const Argument*> MovedOutputs(const Op& op);

// The attribute with the number that such an op puts where it moves no value to; null: it has a
// value for each place.
const std::string* FindFilling(const Op& op, Era era);

// Whether such an op gives each element of one input once, in another order or shape. It may repeat
// or drop some where the program does not declare all sizes.
bool ReordersValues(const Op& op, Era era);

// The one input that an op which moves values moves, and the one output in which it has all of
// that; null where there is none, or more than one.
const Argument* FindMoved(const Op& op, Era era);
const Argument* FindMovedTo(const Op& op, Era era);

// Whether an op that moves the values of one input leaves each of them at its place of an axis, as
// the maxima of images do with their channels. False where the program does not declare it.
bool KeepsChannels(const Op& op, int axis, Era era);

// Whether nothing but ops that quantize with a given range read a value, directly or after ops that
// only move it or requantize it (requantization.h). A NaN gets the code of 0 there. False where
// more moves follow than are looked at. `also`: what else may read it.
using IsReader = std::function<bool(const Argument& reader)>;
bool BecomesCodes(const Value& value, Era era, const IsReader& also = nullptr);

// The same where each value on the way has one reader, and each op that moves it one output, so
// that one step to codes can go ahead of all of them and nothing is stored as floats.
// `only_reader`: the op that alone reads a value; null where there is none, or more than one.
using OnlyReaderOf = std::function<const Op*(const Value& value)>;
bool IsStoredAsCodes(const Value& value, Era era, const OnlyReaderOf& only_reader);

}  // namespace fixpoint

#endif  // FIXPOINT_OPS_VALUE_FLOW_H_
