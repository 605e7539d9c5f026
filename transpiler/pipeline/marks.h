// The marks on ops that a rewrite inserted or changed: attributes, because those survive when the
// reference's tools load and save the program, where the edit log's field may not.

#ifndef FIXPOINT_TRANSPILER_PIPELINE_MARKS_H_
#define FIXPOINT_TRANSPILER_PIPELINE_MARKS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/program/program_fwd.h"
#include "proto/program/rewriter.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// STRING, on an inserted op: the pass.
inline constexpr char kInsertedByAttr[] = "fixpoint.inserted_by";
// STRINGS, on a changed op: "Input.0=x" for the old name in a slot, "X.3+" for an added argument,
// "with_quant_attr=false" for the old value of an attribute, "quantization_type+" for an added one.
inline constexpr char kRewiredAttr[] = "fixpoint.rewired";
// STRINGS, on an inserted op: the ops that it stands in place of, each as a line of the text form.
inline constexpr char kReplacesAttr[] = "fixpoint.replaces";
// STRING, on an op that stands in place of others, which a pattern replaced: the pattern. It does
// not say what they were, so that only the edit log leads back.
inline constexpr char kRewrittenByAttr[] = "fixpoint.rewritten_by";

// The mark of an argument that is about to be changed, with its old name, and that of one that is
// about to be added.
std::string ArgumentMark(absl::string_view slot, int index, absl::string_view before);
std::string AddedArgumentMark(absl::string_view slot, int index);

// The mark of an attribute that is about to be set or changed, with its old value in the text form
// (proto/text/attribute_text.h), which shows the type.
std::string AttributeMark(const Op& op, absl::string_view name);

// Adds a mark to those of a changed op.
void AddMark(const Op& op, std::string mark, Rewriter* rewriter);

// The attribute in the text after the mark's "="; nothing if that is no value, or one that names
// blocks.
std::optional<OpDesc::Attr> AttributeOfMark(absl::string_view name, absl::string_view value);

// Whether Fixpoint has rewritten the program, by more than a preparation: it has an edit log, or an
// op with a mark.
bool IsMarked(const Program& program);

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_PIPELINE_MARKS_H_
