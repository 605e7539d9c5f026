// Messages with random contents, for property tests of what must hold for every message.

#ifndef FIXPOINT_TESTS_TESTING_RANDOM_MESSAGE_H_
#define FIXPOINT_TESTS_TESTING_RANDOM_MESSAGE_H_

#include <google/protobuf/message.h>

#include <random>

namespace fixpoint {

// Fills `message` by reflection: every field, required ones too, may be absent; names and bytes
// are odd, floats are any bits, fields unknown to the schema occur at every level. The same state
// of `random` gives the same message.
void FillRandomly(std::mt19937* random, google::protobuf::Message* message);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_TESTING_RANDOM_MESSAGE_H_
