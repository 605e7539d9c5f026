#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/status_macros.h"
#include "proto/text/attribute_text.h"
#include "proto/text/program_text.h"
#include "proto/text/text_scanner.h"
#include "proto/text/variable_text.h"

namespace fixpoint {
namespace {

constexpr absl::string_view kStatement =
    "a line that begins with program, block, var or the type of an op";

// Each Parse function starts at the construct that it is named for, consumes it, and returns false
// after it noted an error with the scanner.
class Parser {
 public:
  explicit Parser(absl::string_view text, int first_line = 1) : scanner_(text, first_line) {}

  absl::StatusOr<ProgramDesc> Parse(absl::string_view file_name);
  absl::StatusOr<ProgramPart> ParsePart(absl::string_view file_name);

 private:
  enum class BlockState { kNone, kImplied, kInBraces };

  // Returns the errors that the scanner noted.
  absl::Status ParseLines(absl::string_view file_name);
  bool ParseLine();
  bool ParseStatement();
  bool ParseHeader();
  bool ParseHeaderField();
  bool ParseOpVersion(OpVersionMap* versions);
  bool ParseBlockStart();
  bool ParseBlockEnd();
  bool ParseVarLine();
  bool ParseOpLine();
  bool ParseOp(OpDesc* op);
  template <typename Slots>
  bool ParseSlots(Slots* slots);
  bool ParseSlot(OpDesc::Var* slot);
  template <typename Message>
  bool ParseUnknownFields(Message* message);

  // The block that a var or op line is in; null after an error.
  BlockDesc* CurrentBlock();

  TextScanner scanner_;
  ProgramDesc program_;
  BlockDesc* block_ = nullptr;
  BlockState block_state_ = BlockState::kNone;
  size_t block_start_ = 0;
  // Where the variables and ops begin.
  std::vector<size_t> var_starts_;
  std::vector<size_t> op_starts_;
  bool at_first_line_ = true;
  bool begins_line_ = false;  // whether any line begins like a line of a program
  std::string quoted_;
};

// The error for a text in which no line begins like a line of a program: the first of several
// errors stands for all.
absl::Status NoProgramText(absl::string_view file_name, const absl::Status& errors) {
  const size_t end = errors.message().find('\n');
  if (end == absl::string_view::npos) return errors;
  return absl::InvalidArgumentError(
      absl::StrCat(file_name, ": is not a program; no line begins as one of a program's text\n",
                   errors.message().substr(0, end)));
}

absl::StatusOr<ProgramDesc> Parser::Parse(absl::string_view file_name) {
  const absl::Status status = ParseLines(file_name);
  if (!status.ok()) return begins_line_ ? status : NoProgramText(file_name, status);
  return std::move(program_);
}

absl::StatusOr<ProgramPart> Parser::ParsePart(absl::string_view file_name) {
  RETURN_IF_ERROR(ParseLines(file_name));
  if (program_.ByteSizeLong() > 0 && block_state_ != BlockState::kImplied) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, ":", scanner_.LineOf(block_start_),
                                                   ": a program or a block; expected only lines of "
                                                   "variables and ops here"));
  }
  ProgramPart part;
  if (program_.blocks_size() == 1) part.block = std::move(*program_.mutable_blocks(0));
  part.var_lines = scanner_.LinesOf(var_starts_);
  part.op_lines = scanner_.LinesOf(op_starts_);
  return part;
}

absl::Status Parser::ParseLines(absl::string_view file_name) {
  scanner_.SkipLineEnds();
  bool goes_on = true;
  while (goes_on && !scanner_.AtEnd()) {
    goes_on = ParseLine() || scanner_.Recover();
    at_first_line_ = false;
    scanner_.SkipLineEnds();
  }
  if (goes_on && block_state_ == BlockState::kInBraces) {
    scanner_.Fail(block_start_, "this block does not end; expected a line with \"}\"");
  }
  return scanner_.status(file_name);
}

bool Parser::ParseLine() {
  if (!ParseStatement()) return false;
  return scanner_.AtEndOfLine() || scanner_.FailHere("the end of the line");
}

bool Parser::ParseStatement() {
  for (const char* word : {"program", "block", "var", "op"}) {
    begins_line_ = begins_line_ || scanner_.AtWord(word);
  }
  if (scanner_.Peek() == '}') return ParseBlockEnd();
  if (scanner_.AtWord("program")) return ParseHeader();
  if (scanner_.AtWord("block")) return ParseBlockStart();
  if (scanner_.AtWord("var")) return ParseVarLine();
  return ParseOpLine();
}

bool Parser::ParseHeader() {
  if (!at_first_line_) {
    return scanner_.Fail(scanner_.offset(),
                         "a program line in the middle; expected one at most, before all else");
  }
  scanner_.TryConsumeWord("program");
  while (!scanner_.AtEndOfLine()) {
    if (!ParseHeaderField()) return false;
  }
  return true;
}

bool Parser::ParseHeaderField() {
  if (scanner_.TryConsumeWord("retired_version")) {
    return scanner_.ConsumeEquals("retired_version", program_.has_retired_version()) &&
           scanner_.ReadQuoted("quoted bytes", program_.mutable_retired_version());
  }
  if (scanner_.TryConsumeWord("retired_op_compatible_map")) {
    return scanner_.ConsumeEquals("retired_op_compatible_map",
                                  program_.has_retired_op_compatible_map()) &&
           scanner_.ReadQuoted("quoted bytes", program_.mutable_retired_op_compatible_map());
  }
  if (scanner_.TryConsumeWord("version")) {
    if (!scanner_.ConsumeEquals("version", program_.has_version())) return false;
    if (scanner_.AtSerialized()) return scanner_.ReadSerialized(program_.mutable_version());
    int64_t version;
    if (!scanner_.ReadInt64("a version number", &version)) return false;
    program_.mutable_version()->set_version(version);
    return true;
  }
  if (scanner_.TryConsumeWord("op_versions")) {
    if (!scanner_.ConsumeEquals("op_versions", program_.has_op_version_map())) return false;
    OpVersionMap* versions = program_.mutable_op_version_map();
    if (scanner_.AtSerialized()) return scanner_.ReadSerialized(versions);
    return scanner_.Consume('{', "before the versions of ops, like {conv2d=1}") &&
           scanner_.ReadSequence('}', [&] { return ParseOpVersion(versions); });
  }
  if (scanner_.TryConsumeWord("edit_log")) {
    if (!scanner_.ConsumeEquals("edit_log", program_.has_edit_log())) return false;
    if (scanner_.AtSerialized()) return scanner_.ReadSerialized(program_.mutable_edit_log());
    return scanner_.FailHere("serialized and quoted bytes");
  }
  if (scanner_.TryConsumeWord("composites")) {
    if (!scanner_.ConsumeEquals("composites", program_.has_composites())) return false;
    if (!scanner_.AtSerialized()) return scanner_.FailHere("serialized and quoted bytes");
    return scanner_.TryConsumeWord("serialized") &&
           scanner_.ReadQuoted("quoted bytes", program_.mutable_composites());
  }
  if (scanner_.AtWord("unknown")) return ParseUnknownFields(&program_);
  return scanner_.FailHere(
      "version, op_versions, retired_version, retired_op_compatible_map, edit_log, composites or "
      "unknown");
}

bool Parser::ParseOpVersion(OpVersionMap* versions) {
  OpVersionMap::OpVersionPair* pair = versions->add_pair();
  absl::string_view name;
  int32_t version;
  if (!scanner_.ReadName("the type of an op", &name)) return false;
  pair->set_op_name(name.data(), name.size());
  if (!scanner_.Consume('=', "after the type of an op")) return false;
  if (!scanner_.ReadInt32("a version number", &version)) return false;
  pair->mutable_op_version()->set_version(version);
  return true;
}

bool Parser::ParseBlockStart() {
  const size_t start = scanner_.offset();
  if (block_state_ == BlockState::kImplied) {
    return scanner_.Fail(start,
                         "a block after lines that are in none; expected all of them in blocks");
  }
  if (block_state_ == BlockState::kInBraces) {
    return scanner_.Fail(start, "a block in a block; expected a line with \"}\" before it");
  }
  scanner_.TryConsumeWord("block");
  block_ = program_.add_blocks();
  if (scanner_.AtSerialized()) return scanner_.ReadSerialized(block_);
  int32_t number;
  if (!scanner_.ReadInt32("the index of the block", &number)) return false;
  block_->set_idx(number);
  while (!scanner_.TryConsumeBlockBrace('{')) {
    if (scanner_.TryConsumeWord("parent")) {
      if (!scanner_.ConsumeEquals("parent", block_->has_parent_idx())) return false;
      if (!scanner_.ReadInt32("the index of a block", &number)) return false;
      block_->set_parent_idx(number);
    } else if (scanner_.TryConsumeWord("forward")) {
      if (!scanner_.ConsumeEquals("forward", block_->has_forward_block_idx())) return false;
      if (!scanner_.ReadInt32("the index of a block", &number)) return false;
      block_->set_forward_block_idx(number);
    } else if (scanner_.AtWord("unknown")) {
      if (!ParseUnknownFields(block_)) return false;
    } else {
      return scanner_.FailHere("parent=0, forward=0, unknown=\"...\" or \"{\"");
    }
  }
  if (!block_->has_parent_idx()) block_->set_parent_idx(-1);
  block_state_ = BlockState::kInBraces;
  block_start_ = start;
  return true;
}

bool Parser::ParseBlockEnd() {
  if (block_state_ != BlockState::kInBraces) {
    return scanner_.Fail(scanner_.offset(),
                         absl::StrCat("\"}\" ends no block; expected ", kStatement));
  }
  scanner_.TryConsumeBlockBrace('}');
  block_state_ = BlockState::kNone;
  return true;
}

BlockDesc* Parser::CurrentBlock() {
  if (block_state_ != BlockState::kNone) return block_;
  if (program_.blocks_size() > 0) {
    scanner_.Fail(scanner_.offset(),
                  "a line outside of the blocks; expected it before the \"}\" of one");
    return nullptr;
  }
  block_ = program_.add_blocks();
  block_->set_idx(0);
  block_->set_parent_idx(-1);
  block_state_ = BlockState::kImplied;
  return block_;
}

bool Parser::ParseVarLine() {
  BlockDesc* const block = CurrentBlock();
  if (block == nullptr) return false;
  var_starts_.push_back(scanner_.offset());
  scanner_.TryConsumeWord("var");
  return scanner_.AtSerialized() ? scanner_.ReadSerialized(block->add_vars())
                                 : ParseVar(&scanner_, block->add_vars());
}

bool Parser::ParseOpLine() {
  if (!scanner_.AtName()) return scanner_.FailHere(kStatement);
  BlockDesc* const block = CurrentBlock();
  if (block == nullptr) return false;
  op_starts_.push_back(scanner_.offset());
  if (scanner_.TryConsumeWord("op")) {
    if (scanner_.AtSerialized()) return scanner_.ReadSerialized(block->add_ops());
    return scanner_.FailHere("serialized and quoted bytes");
  }
  return ParseOp(block->add_ops());
}

bool Parser::ParseOp(OpDesc* op) {
  absl::string_view type;
  if (!scanner_.ReadName("the type of an op", &type)) return false;
  op->set_type(type.data(), type.size());
  if (!ParseSlots(op->mutable_inputs())) return false;
  absl::string_view next = "-> (outputs), {attributes} or the end of the line";
  if (scanner_.TryConsumeSymbol("->")) {
    if (!ParseSlots(op->mutable_outputs())) return false;
    next = "{attributes} or the end of the line";
  }
  if (scanner_.TryConsume('{')) {
    if (!scanner_.ReadSequence('}', [&] { return ParseAttr(&scanner_, op->add_attrs()); })) {
      return false;
    }
    next = "the end of the line";
  }
  while (!scanner_.AtEndOfLine()) {
    if (scanner_.AtWord("unknown")) {
      if (!ParseUnknownFields(op)) return false;
    } else if (!op->has_is_target() && scanner_.TryConsumeWord("is_target")) {
      bool value = true;
      if (scanner_.TryConsume('=') && !scanner_.ReadBool(&value)) return false;
      op->set_is_target(value);
    } else {
      return scanner_.FailHere(next);
    }
  }
  return true;
}

template <typename Slots>
bool Parser::ParseSlots(Slots* slots) {
  if (!scanner_.Consume('(', "before the slots of an op, like (X=x)")) return false;
  begins_line_ = true;
  return scanner_.ReadSequence(')', [&] { return ParseSlot(slots->Add()); });
}

bool Parser::ParseSlot(OpDesc::Var* slot) {
  if (scanner_.AtSerialized()) return scanner_.ReadSerialized(slot);
  absl::string_view name;
  if (!scanner_.ReadName("a slot: X=x, X=[] or X=[x, y]", &name)) return false;
  slot->set_parameter(name.data(), name.size());
  if (!scanner_.Consume('=', "after the name of a slot")) return false;
  const auto parse_argument = [&] {
    if (!scanner_.ReadName("the name of a variable", &name)) return false;
    slot->add_arguments(name.data(), name.size());
    return true;
  };
  return scanner_.TryConsume('[') ? scanner_.ReadSequence(']', parse_argument) : parse_argument();
}

template <typename Message>
bool Parser::ParseUnknownFields(Message* message) {
  const size_t start = scanner_.offset();
  scanner_.TryConsumeWord("unknown");
  if (!scanner_.ConsumeEquals("unknown", !message->unknown_fields().empty())) return false;
  if (!scanner_.ReadQuoted("quoted bytes", &quoted_)) return false;
  Message fields;
  if (fields.ParsePartialFromString(quoted_)) {
    message->MergeFrom(fields);
    return true;
  }
  return scanner_.Fail(start,
                       "these bytes are not a sequence of fields; expected protobuf's wire format");
}

}  // namespace

absl::StatusOr<ProgramDesc> ParseProgramText(absl::string_view text, absl::string_view file_name) {
  return Parser(text).Parse(file_name);
}

absl::StatusOr<ProgramPart> ParseProgramPart(absl::string_view text, absl::string_view file_name,
                                             int first_line) {
  return Parser(text, first_line).ParsePart(file_name);
}

}  // namespace fixpoint
