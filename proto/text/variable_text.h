// Variables in the text form, after the word `var`: `w f32[3,2] persistable`;
// docs/program_text.md has the grammar.

#ifndef FIXPOINT_PROTO_TEXT_VARIABLE_TEXT_H_
#define FIXPOINT_PROTO_TEXT_VARIABLE_TEXT_H_

#include "proto/text/text_scanner.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// Reads name, type, properties and attributes; false after an error was noted.
bool ParseVar(TextScanner* scanner, VarDesc* var);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_TEXT_VARIABLE_TEXT_H_
