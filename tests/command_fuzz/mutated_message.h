// Messages of any kind with single fields changed.

#ifndef FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_MESSAGE_H_
#define FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_MESSAGE_H_

#include <google/protobuf/message.h>

#include "tests/testing/random_program.h"

namespace fixpoint {

// Changes one field somewhere in `message`: a number becomes an odd one, a string another string of
// the message, an enum another value; an element of a list goes, comes twice or changes places; a
// field that was absent is set, one that was there is cleared.
void ChangeAField(Random* random, google::protobuf::Message* message);

}  // namespace fixpoint

#endif  // FIXPOINT_TESTS_COMMAND_FUZZ_MUTATED_MESSAGE_H_
