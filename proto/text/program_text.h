// The text form of a program: one op per line, small enough to write by hand, and lossless.
// docs/program_text.md has the grammar.
//
// PrintProgram and ParseProgramText are each other's inverse on messages: presence, order,
// unknown fields, NaN bits and missing required fields are kept. Where the short form of an
// attribute, variable or op cannot say something, its serialized message is written as a string.

#ifndef FIXPOINT_PROTO_TEXT_PROGRAM_TEXT_H_
#define FIXPOINT_PROTO_TEXT_PROGRAM_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// Whether an attribute of that name only records where in the user's source an op was created, or
// for which device (op_callstack and the like).
bool IsDebugAttr(absl::string_view name);

struct ProgramTextOptions {
  // False leaves out debug attributes. Such a text is only for reading.
  bool debug_attributes = true;
};

// Time and memory are linear in the program.
std::string PrintProgram(const ProgramDesc& program, const ProgramTextOptions& options = {});

// One line without its end.
std::string PrintOp(const OpDesc& op, const ProgramTextOptions& options = {});
std::string PrintVar(const VarDesc& var);
// The text after the = of an attribute; the whole message if it has no short form.
std::string PrintAttrValue(const OpDesc::Attr& attr);

// Reads what PrintProgram writes and what people write: comments from # to the end of the line,
// line breaks inside brackets, and bare `var` and op lines for a program of one block. Required
// fields may be missing, as in ProgramDesc::ParsePartial.
//
// Errors: kInvalidArgument with up to 20 lines `file_name:line:column: what is wrong; what would
// be right`. The depth of calls is fixed; memory is linear in the text.
absl::StatusOr<ProgramDesc> ParseProgramText(absl::string_view text, absl::string_view file_name);

// Variables and ops that are a part of a text of another kind.
struct ProgramPart {
  BlockDesc block;
  // The lines of the file on which they begin.
  std::vector<int> var_lines;
  std::vector<int> op_lines;
};

// Reads `var` and op lines, the first of which is on line `first_line` of the file. Errors as
// above; also (kInvalidArgument) where the text has a header or blocks.
absl::StatusOr<ProgramPart> ParseProgramPart(absl::string_view text, absl::string_view file_name,
                                             int first_line);

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_TEXT_PROGRAM_TEXT_H_
