// The classes of program.h, for headers that only refer to them.

#ifndef FIXPOINT_PROTO_PROGRAM_PROGRAM_FWD_H_
#define FIXPOINT_PROTO_PROGRAM_PROGRAM_FWD_H_

namespace fixpoint {

class Argument;
class Block;
class Op;
class Program;
class Value;
class Variable;

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_PROGRAM_FWD_H_
