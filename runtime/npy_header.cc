#include "runtime/npy_header.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ops/dims.h"
#include "proto/base/status_macros.h"
#include "runtime/error_place.h"

namespace fixpoint {
namespace {

// What NumPy calls an element after the mark of the byte order: its kind and its bytes.
struct ElementCode {
  absl::string_view code;
  VarType::Type dtype;
};
constexpr ElementCode kElementCodes[] = {
    {"b1", VarType::BOOL},   {"i1", VarType::INT8},      {"i2", VarType::INT16},
    {"i4", VarType::INT32},  {"i8", VarType::INT64},     {"u1", VarType::UINT8},
    {"u8", VarType::SIZE_T}, {"f2", VarType::FP16},      {"f4", VarType::FP32},
    {"f8", VarType::FP64},   {"c8", VarType::COMPLEX64}, {"c16", VarType::COMPLEX128},
};

std::string KnownCodes() {
  return absl::StrJoin(kElementCodes, ", ", [](std::string* out, const ElementCode& element) {
    absl::StrAppend(out, element.code);
  });
}

absl::StatusOr<VarType::Type> DtypeOf(absl::string_view descr) {
  const auto refused = [&](absl::string_view why) {
    return absl::UnimplementedError(
        absl::StrCat("the elements are '", absl::CHexEscape(descr), "', ", why));
  };
  const absl::string_view code = descr.empty() ? descr : descr.substr(1);
  if (absl::StartsWith(code, "O")) {
    return refused("Python objects, which are a pickle, that is code, and are not read");
  }
  for (const ElementCode& known : kElementCodes) {
    if (known.code != code) continue;
    // A single byte has no order; NumPy writes "|" then.
    if (descr[0] == '<' || ElementSize(known.dtype) == 1) return known.dtype;
    if (descr[0] == '>') {
      return refused(absl::StrCat("big endian; save array.astype('<", code, "')"));
    }
  }
  return refused(absl::StrCat("which no tensor has; expected one of ", KnownCodes(),
                              " in little endian order, as in '<f4'"));
}

// The text from front to back. Blanks between tokens are skipped.
class HeaderScanner {
 public:
  HeaderScanner(absl::string_view text, uint64_t position)
      : rest_(text), end_(position + text.size()) {}

  // The byte of the next token.
  uint64_t position() {
    rest_ = absl::StripLeadingAsciiWhitespace(rest_);
    return end_ - rest_.size();
  }

  char Next() {
    position();
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool AtEnd() { return position() == end_; }

  bool Consume(absl::string_view token) {
    position();
    return absl::ConsumePrefix(&rest_, token);
  }

  absl::Status Expect(absl::string_view token) {
    return Consume(token) ? absl::OkStatus() : Unexpected(absl::StrCat("\"", token, "\""));
  }

  absl::StatusOr<std::string> String() {
    const char quote = Next();
    const size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
    if (end == rest_.npos) return Unexpected("a string");
    const std::string value(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return value;
  }

  absl::StatusOr<bool> Boolean() {
    if (Consume("True")) return true;
    if (Consume("False")) return false;
    return Unexpected("True or False");
  }

  absl::StatusOr<int64_t> Extent() {
    position();
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), absl::ascii_isdigit);
    const absl::string_view digits = rest_.substr(0, end - rest_.begin());
    int64_t extent;
    if (!absl::SimpleAtoi(digits, &extent)) return Unexpected("an extent of 0 to 2^63 - 1");
    rest_.remove_prefix(digits.size());
    Consume("L");  // A long integer, as Python 2 writes it.
    return extent;
  }

  absl::Status Unexpected(absl::string_view expected) {
    constexpr size_t kMostShown = 20;
    const uint64_t here = position();
    const std::string found =
        rest_.empty() ? "it ends"
                      : absl::StrCat("\"", absl::CHexEscape(rest_.substr(0, kMostShown)), "\"");
    return Malformed(here, absl::StrCat("the header is not as NumPy writes it: expected ", expected,
                                        ", got ", found));
  }

 private:
  absl::string_view rest_;
  uint64_t end_;
};

absl::StatusOr<VarType::Type> ParseDescr(HeaderScanner& scanner) {
  const uint64_t position = scanner.position();
  if (scanner.Next() == '[') {
    return At(position, absl::UnimplementedError(
                            "the elements are records of several fields; save each field as an "
                            "array of its own"));
  }
  ASSIGN_OR_RETURN(const std::string descr, scanner.String());
  absl::StatusOr<VarType::Type> dtype = DtypeOf(descr);
  if (!dtype.ok()) return At(position, dtype.status());
  return dtype;
}

// "()", "(3,)", "(2, 3)"; as in Python a comma may stand after the last.
absl::StatusOr<std::vector<int64_t>> ParseShape(HeaderScanner& scanner) {
  const uint64_t position = scanner.position();
  RETURN_IF_ERROR(scanner.Expect("("));
  std::vector<int64_t> dims;
  while (!scanner.Consume(")")) {
    ASSIGN_OR_RETURN(const int64_t extent, scanner.Extent());
    dims.push_back(extent);
    const bool has_comma = scanner.Consume(",");
    if (!has_comma && (dims.size() == 1 || scanner.Next() != ')')) {
      return scanner.Unexpected("\",\"");
    }
  }
  if (dims.size() > kMostDims) {
    return At(position,
              absl::UnimplementedError(absl::StrCat(
                  "the array has ", dims.size(), " dimensions; at most ", kMostDims, " are read")));
  }
  const absl::StatusOr<int64_t> size = TensorSize(dims);
  if (!size.ok()) return At(position, size.status());
  return dims;
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text, uint64_t position) {
  HeaderScanner scanner(text, position);
  std::optional<VarType::Type> dtype;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> dims;
  RETURN_IF_ERROR(scanner.Expect("{"));
  while (!scanner.Consume("}")) {
    const uint64_t key_position = scanner.position();
    ASSIGN_OR_RETURN(const std::string key, scanner.String());
    RETURN_IF_ERROR(scanner.Expect(":"));
    if (key == "descr" && !dtype.has_value()) {
      ASSIGN_OR_RETURN(dtype, ParseDescr(scanner));
    } else if (key == "fortran_order" && !fortran_order.has_value()) {
      ASSIGN_OR_RETURN(fortran_order, scanner.Boolean());
    } else if (key == "shape" && !dims.has_value()) {
      ASSIGN_OR_RETURN(dims, ParseShape(scanner));
    } else {
      return Malformed(key_position, absl::StrCat("the header has the key '", absl::CHexEscape(key),
                                                  "'; expected 'descr', 'fortran_order' and "
                                                  "'shape', each once"));
    }
    if (!scanner.Consume(",") && scanner.Next() != '}') return scanner.Unexpected("\",\" or \"}\"");
  }
  if (!scanner.AtEnd()) return scanner.Unexpected("its end");
  if (!dtype.has_value() || !fortran_order.has_value() || !dims.has_value()) {
    return Malformed(position, absl::StrCat("the header has no key '",
                                            !dtype.has_value()           ? "descr"
                                            : !fortran_order.has_value() ? "fortran_order"
                                                                         : "shape",
                                            "'"));
  }
  return NpyHeader{*dtype, *fortran_order, *std::move(dims)};
}

absl::StatusOr<std::string> NpyHeaderText(const Tensor& tensor) {
  const auto element =
      std::find_if(std::begin(kElementCodes), std::end(kElementCodes),
                   [&](const ElementCode& known) { return known.dtype == tensor.dtype(); });
  if (element == std::end(kElementCodes)) {
    return absl::UnimplementedError(
        absl::StrCat("NumPy has no ", VarType::Type_Name(tensor.dtype()), "; save it as FP32"));
  }
  if (tensor.dims().size() > kMostDims) {
    return absl::UnimplementedError(absl::StrCat("the tensor has ", tensor.dims().size(),
                                                 " dimensions; NumPy has at most ", kMostDims));
  }
  return absl::StrCat("{'descr': '", ElementSize(tensor.dtype()) == 1 ? "|" : "<", element->code,
                      "', 'fortran_order': False, 'shape': (", absl::StrJoin(tensor.dims(), ", "),
                      tensor.dims().size() == 1 ? ",), }" : "), }");
}

}  // namespace fixpoint
