// The inputs and outputs of a program.

#ifndef FIXPOINT_PROTO_PROGRAM_FEEDS_AND_FETCHES_H_
#define FIXPOINT_PROTO_PROGRAM_FEEDS_AND_FETCHES_H_

#include <string>
#include <vector>

#include "proto/program/program_fwd.h"

namespace fixpoint {

// The ops that are the ends of a program, and compute nothing: a feed writes an input, a fetch
// reads an output.
inline constexpr char kFeed[] = "feed";
inline constexpr char kFetch[] = "fetch";
bool IsFeed(const Op& op);
bool IsFetch(const Op& op);
inline bool IsFeedOrFetch(const Op& op) { return IsFeed(op) || IsFetch(op); }

// The variables that its feed ops write, in the order of their columns. In a program without feed
// ops, the tensors of block 0 that ops name and that are not persistable, if no op writes them or
// one reads them first: also in the first iteration of a loop, and, where a variable is marked as
// fed (need_check_feed), after a conditional that may write it. What an op lists for a block that
// it runs is not read by that.
std::vector<const Variable*> FedVariables(const Program& program);

// The variables that its fetch ops read, likewise.
std::vector<const Variable*> FetchedVariables(const Program& program);

// The names of variables, in their order.
std::vector<std::string> NamesOf(const std::vector<const Variable*>& variables);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_FEEDS_AND_FETCHES_H_
