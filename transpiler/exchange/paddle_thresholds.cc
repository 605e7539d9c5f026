#include "transpiler/exchange/paddle_thresholds.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/file/program_file.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "transpiler/exchange/op_thresholds.h"
#include "transpiler/exchange/ranges_by_variable.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kGzip = "\x1f\x8b";

// The first line that is neither blank nor a comment.
absl::string_view FirstLine(absl::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const absl::string_view line = absl::StripAsciiWhitespace(text.substr(0, end));
    if (!line.empty() && line[0] != '#') return line;
    text = end == absl::string_view::npos ? absl::string_view() : text.substr(end + 1);
  }
  return text;
}

void SetThreshold(const std::string& attribute, float range, OpDesc* op) {
  for (OpDesc::Attr& known : *op->mutable_attrs()) {
    if (known.name() != attribute) continue;
    known = MakeFloatAttr(attribute, range);
    return;
  }
  *op->add_attrs() = MakeFloatAttr(attribute, range);
}

OpDesc* DescOf(const Op& op, ProgramDesc* program) {
  return program->mutable_blocks(op.block().index())->mutable_ops(op.Index());
}

absl::Status SetRange(const LearnedRange& range, ProgramDesc* desc) {
  const auto unsupported = [&range](absl::string_view what) {
    return absl::UnimplementedError(absl::StrCat("\"", range.variable(), "\" has ", what,
                                                 ", for which PaddlePaddle has no attribute"));
  };
  if (range.is_affine) return unsupported("a zero point");
  if (range.scales.size() != 1) return unsupported("a scale for each channel");
  const Op* const writer =
      range.value->origin() == Value::Origin::kWrite ? range.value->op() : nullptr;
  if (writer == nullptr) {
    for (const Argument* input : range.op->inputs()) {
      if (input->value() != range.value) continue;
      SetThreshold(ThresholdAttr(input->slot_name(), input->index()), range.scales[0],
                   DescOf(*range.op, desc));
    }
    return absl::OkStatus();
  }
  OpDesc* const op = DescOf(*writer, desc);
  for (const Argument* output : writer->outputs()) {
    if (output->variable() != &range.value->variable()) continue;
    SetThreshold(ThresholdAttr(output->slot_name(), output->index()), range.scales[0], op);
    if (output == LastFloatOutput(*writer)) SetThreshold(kOutThreshold, range.scales[0], op);
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeProgram(absl::string_view bytes) {
  if (absl::StartsWith(bytes, kGzip) || bytes.find('\0') != absl::string_view::npos) return true;
  const absl::string_view line = FirstLine(bytes);
  const absl::string_view word = line.substr(0, line.find_first_of(" \t{:"));
  const absl::string_view rest = line.substr(word.size());
  if (word == "blocks") return true;  // protobuf's text
  return (word == "program" || word == "block" || word == "var") && !absl::StartsWith(rest, ":");
}

absl::StatusOr<RangeProfile> ReadPaddleThresholds(absl::string_view bytes, absl::string_view name) {
  ASSIGN_OR_RETURN(LoadedProgram loaded, ParseProgramBytes(bytes, name));
  ASSIGN_OR_RETURN(const Program program,
                   Program::Create(std::move(loaded.program), std::string(name)));
  RangeProfile profile;
  absl::flat_hash_map<std::string, float> known;
  for (const Op& op : program.ops()) {
    ASSIGN_OR_RETURN(const std::vector<OpThreshold> thresholds, ThresholdsOf(op));
    for (const OpThreshold& threshold : thresholds) {
      const std::string variable(threshold.argument->name());
      const auto [first, is_new] = known.try_emplace(variable, threshold.range);
      if (!is_new && first->second != threshold.range) {
        return absl::InvalidArgumentError(absl::StrCat(
            DescribeInFile(op), ": \"", variable, "\" has the range ", threshold.range,
            " here, and ", first->second, " by an earlier op; want one for each name"));
      }
      if (!is_new) continue;
      RangeProfile::Entry& entry = *profile.add_entries();
      entry.set_variable(variable);
      entry.set_min(-threshold.range);
      entry.set_max(threshold.range);
    }
  }
  if (profile.entries_size() > 0) return profile;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": is a program, and no op of it has a range; want ", kOutThreshold,
                   " or ", ThresholdAttr("<Slot>", 0)));
}

absl::StatusOr<ProgramDesc> WithPaddleThresholds(const std::vector<LearnedRange>& ranges,
                                                 const Program& program) {
  ASSIGN_OR_RETURN(const std::vector<const LearnedRange*> kept, RangesByVariable(ranges));
  ProgramDesc desc = program.Proto();
  for (const LearnedRange* range : kept) {
    if (!range->is_weight) RETURN_IF_ERROR(SetRange(*range, &desc));
  }
  return desc;
}

}  // namespace fixpoint
