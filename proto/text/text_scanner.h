// Reads the smallest parts of the text form (docs/program_text.md): names, quoted strings,
// numbers, punctuation. Keeps the position and collects errors; the parser above it knows the
// grammar.

#ifndef FIXPOINT_PROTO_TEXT_TEXT_SCANNER_H_
#define FIXPOINT_PROTO_TEXT_TEXT_SCANNER_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

class TextScanner {
 public:
  // A number as an attribute writes it: INT 1, LONG 1L, FLOAT 1.0, FLOAT64 1.0d.
  struct Number {
    AttrType type = INT;
    int64_t integer = 0;   // INT, LONG
    float float32 = 0.0f;  // FLOAT
    double float64 = 0.0;  // FLOAT64
  };

  // `text` must outlive the scanner. It begins on that line of its file.
  explicit TextScanner(absl::string_view text, int first_line = 1);

  // Between two calls the scanner is at a token: it has skipped blanks, comments and, inside
  // brackets, line ends.
  size_t offset() const { return offset_; }
  bool AtEnd() const { return offset_ == text_.size(); }
  bool AtEndOfLine() const { return AtEnd() || text_[offset_] == '\n'; }
  // '\0' at the end.
  char Peek() const { return AtEnd() ? '\0' : text_[offset_]; }
  // The character after the bare name at the scanner's position, past blanks; '\0' if there is no
  // such name.
  char PeekPastName() const;
  bool AtWord(absl::string_view word) const;
  bool AtName() const;        // bare or quoted
  bool AtNumber() const;      // or what begins like one
  bool AtOperand() const;     // what ReadOperand reads, or what begins like it
  bool AtSerialized() const;  // `serialized "..."`

  // Consumes `c`, or changes nothing. Round, square and curly brackets are counted.
  bool TryConsume(char c);
  bool TryConsumeWord(absl::string_view word);
  bool TryConsumeSymbol(absl::string_view symbol);  // "->", "<="
  // A curly bracket of a block, inside which line ends matter.
  bool TryConsumeBlockBrace(char brace);

  // Skips line ends, and blanks between them.
  void SkipLineEnds();

  // The functions below return false after they noted an error, which says that `what` was
  // expected, or `c` at the place that `where` describes.
  bool Consume(char c, absl::string_view where);
  // The "=" after the name of a property that may be given once.
  bool ConsumeEquals(absl::string_view property, bool already_given);

  // A bare name or a quoted string. The view holds until the next call.
  bool ReadName(absl::string_view what, absl::string_view* name);
  bool ReadQuoted(absl::string_view what, std::string* bytes);
  // Letters, digits and "_".
  bool ReadWord(absl::string_view what, absl::string_view* word);
  bool ReadNumber(Number* number);
  // The same where an operator may come next without a blank: 1 in "1-x", "1/x" and "1+x", inf in
  // "inf-x".
  bool ReadOperand(Number* number);
  bool ReadInt32(absl::string_view what, int32_t* value);
  bool ReadInt64(absl::string_view what, int64_t* value);
  bool ReadBool(bool* value);
  bool ReadSerialized(google::protobuf::Message* message);

  // Items separated by commas up to the bracket `close`; the opening one is already consumed.
  // `read_one` reads one of them, or returns false after it noted an error.
  template <typename ReadOne>
  bool ReadSequence(char close, ReadOne read_one) {
    if (TryConsume(close)) return true;
    while (true) {
      if (!read_one()) return false;
      if (TryConsume(close)) return true;
      if (!TryConsume(',')) return FailInSequence(close);
    }
  }

  // Notes an error at `offset`; returns false.
  bool Fail(size_t offset, absl::string_view message);
  // The same here: "found <what stands here>; expected <expected>".
  bool FailHere(absl::string_view expected);

  // After an error: skips the rest of the line. False if there is no point in continuing, because
  // the line ends inside brackets or there are enough errors.
  bool Recover();

  // The line of a place in the text. Linear in the text.
  int LineOf(size_t offset) const;
  // The lines of places in ascending order. Linear in the text and in the places.
  std::vector<int> LinesOf(const std::vector<size_t>& offsets) const;

  struct Error {
    size_t offset;
    std::string message;
  };
  // Null if no error was noted.
  const Error* first_error() const { return errors_.empty() ? nullptr : &errors_.front(); }
  // OK if no error was noted.
  absl::Status status(absl::string_view file_name) const;

 private:
  void SkipBlanks();
  void Advance(size_t count);
  absl::string_view BareNameHere() const;
  bool Unquote(absl::string_view what, std::string* bytes);
  bool ReadEscape(std::string* bytes);
  bool ReadNumber(bool is_operand, Number* number);
  template <typename Integer>
  bool ReadInteger(absl::string_view what, Integer* value);
  // inf or nan, whose name is `word`.
  bool ReadSpecialFloat(bool negative, absl::string_view word, Number* number);
  absl::string_view WordHere() const;
  // Reads the bits of a NaN in parentheses, if they are given.
  bool ReadNanBits(uint64_t* bits, bool* given);
  bool FailInSequence(char close);
  std::string Found() const;

  absl::string_view text_;
  const int first_line_;
  size_t offset_ = 0;
  int open_brackets_ = 0;
  std::string unquoted_;
  std::vector<Error> errors_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_TEXT_TEXT_SCANNER_H_
