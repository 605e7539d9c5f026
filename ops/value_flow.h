// What becomes of a value in the ops that read it.

#ifndef FIXPOINT_OPS_VALUE_FLOW_H_
#define FIXPOINT_OPS_VALUE_FLOW_H_

#include <functional>
#include <string>

#include "ops/era.h"
#include "proto/program/program_fwd.h"

namespace fixpoint {

// Whether an op only moves the values of a slot (OpTraits::moved) to other places in its outputs of
// SlotMovedTo, and computes none: reshape, transpose, concat, split, slice, maxima.
bool MovesValues(const Op& op, Era era);

// The slot in which such an op has what it moves: the first of its outputs, as Out, or Y of stack.
// REQUIRES: the op has a schema with outputs.
const std::string& SlotMovedTo(const Op& op);

// Whether such an op gives each element of one input once, in another order or shape. It may repeat
// or drop some where the program does not declare all sizes.
bool ReordersValues(const Op& op, Era era);

// The one output in which an op that moves values has all that it moves; null where there is none,
// or more than one.
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
