// Boxes, and what is told to ops that suppress some of them.

#ifndef FIXPOINT_TESTS_RANDOM_GENERATORS_SOME_BOXES_H_
#define FIXPOINT_TESTS_RANDOM_GENERATORS_SOME_BOXES_H_

#include <string>

#include "ops/dims.h"
#include "tests/random/random_case.h"

namespace fixpoint::random_cases {

// Boxes [rows, ..., 4] whose corners are in order, in an image of that size; some of no extent and,
// if asked, with corners that are in no order.
std::string SomeBoxes(CaseMaker& c, Dims dims, float size, bool may_be_unordered = false);

// Attributes of suppression: what is kept, and how far boxes may overlap.
std::string Limits(CaseMaker& c, int classes);
std::string Overlaps(CaseMaker& c);

}  // namespace fixpoint::random_cases

#endif  // FIXPOINT_TESTS_RANDOM_GENERATORS_SOME_BOXES_H_
