#include "transpiler/exchange/glow_profile.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "proto/base/json_writer.h"
#include "proto/base/status_macros.h"
#include "transpiler/exchange/document_reader.h"
#include "transpiler/exchange/ranges_by_variable.h"

namespace fixpoint {
namespace {

constexpr char kToolsVersion[] = "GlowToolsVersion";
constexpr char kGraphHash[] = "GraphPreLowerHash";
constexpr char kOutputName[] = "NodeOutputName";
constexpr char kMin[] = "Min";
constexpr char kMax[] = "Max";
constexpr char kHistogram[] = "Histogram";
constexpr size_t kDocuments = 3;

// "name" of "name:0".
absl::StatusOr<std::string> VariableOf(const DocumentReader& reader, const Node& node) {
  ASSIGN_OR_RETURN(const std::string output, reader.String(node, kOutputName));
  const size_t colon = output.rfind(':');
  int index = -1;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(output.substr(colon + 1), &index) || index != 0) {
    return reader.At(node, absl::StrCat(kOutputName, ": got \"", output,
                                        "\"; want a variable's name and its only output, as in "
                                        "\"conv2d_0.tmp_0:0\""));
  }
  return output.substr(0, colon);
}

absl::StatusOr<RangeProfile::Entry> EntryOf(const DocumentReader& reader, const Node& node) {
  RETURN_IF_ERROR(
      reader.CheckFields(node, "a node's range", {kOutputName, kMin, kMax, kHistogram}));
  for (const char* const field : {kOutputName, kMin, kMax}) {
    if (node.Find(field) == nullptr) {
      return reader.At(node, absl::StrCat("a node's range has no ", field));
    }
  }
  RangeProfile::Entry entry;
  ASSIGN_OR_RETURN(const std::string variable, VariableOf(reader, *node.Find(kOutputName)));
  entry.set_variable(variable);
  ASSIGN_OR_RETURN(const float min, reader.Float(*node.Find(kMin), kMin));
  ASSIGN_OR_RETURN(const float max, reader.Float(*node.Find(kMax), kMax));
  if (min > max) {
    return reader.At(*node.Find(kMax), absl::StrCat(kMax, " ", max, " is below ", kMin, " ", min));
  }
  entry.set_min(min);
  entry.set_max(max);
  if (const Node* const histogram = node.Find(kHistogram); histogram != nullptr) {
    RETURN_IF_ERROR(reader.CheckSequence(*histogram, kHistogram));
    for (const Node& bin : histogram->items) {
      ASSIGN_OR_RETURN(const float count, reader.Float(bin, kHistogram));
      if (count < 0) return reader.At(bin, absl::StrCat(kHistogram, ": a count of ", count));
    }
  }
  return entry;
}

// In single quotes, where only they are doubled.
std::string Quoted(absl::string_view name) {
  return absl::StrCat("'", absl::StrReplaceAll(name, {{"'", "''"}}), "'");
}

std::string FloatText(float value) {
  std::string text = JsonWriter().Float(value).Take();
  absl::StripTrailingAsciiWhitespace(&text);
  return text;
}

}  // namespace

bool LooksLikeGlowProfile(absl::string_view text) {
  return absl::StartsWith(text, "---") || absl::StartsWith(text, kToolsVersion);
}

absl::StatusOr<RangeProfile> ReadGlowProfile(absl::string_view text, absl::string_view name) {
  const DocumentReader reader((std::string(name)));
  ASSIGN_OR_RETURN(const std::vector<Node> documents, ParseDocuments(text, name));
  if (documents.size() != kDocuments) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": documents: ", documents.size(), "; want three, with ", kToolsVersion, ", with ",
        kGraphHash, ", and a list of ranges, as Glow's -dump-profile writes them"));
  }
  RETURN_IF_ERROR(reader.CheckFields(documents[0], "the first document", {kToolsVersion}));
  RETURN_IF_ERROR(reader.CheckFields(documents[1], "the second document", {kGraphHash}));
  RETURN_IF_ERROR(reader.CheckSequence(documents[2], "the third document"));
  RangeProfile profile;
  absl::flat_hash_set<std::string> names;
  for (const Node& node : documents[2].items) {
    ASSIGN_OR_RETURN(RangeProfile::Entry entry, EntryOf(reader, node));
    if (!names.insert(entry.variable()).second) {
      return reader.At(node, absl::StrCat("\"", entry.variable(), "\" is there twice"));
    }
    *profile.add_entries() = std::move(entry);
  }
  return profile;
}

absl::StatusOr<std::string> WriteGlowProfile(const std::vector<LearnedRange>& ranges) {
  ASSIGN_OR_RETURN(const std::vector<const LearnedRange*> kept, RangesByVariable(ranges));
  std::string text =
      absl::StrCat("---\n", kToolsVersion, ": '1'\n...\n---\n", kGraphHash, ": 0x0\n...\n---\n");
  bool has_ranges = false;
  for (const LearnedRange* range : kept) {
    if (range->is_weight) continue;
    if (range->scales.size() != 1) {
      return absl::UnimplementedError(
          absl::StrCat("\"", range->variable(),
                       "\" has a range for each channel; a Glow profile has one for "
                       "each tensor"));
    }
    has_ranges = true;
    absl::StrAppend(&text, "- ", kOutputName, ": ", Quoted(absl::StrCat(range->variable(), ":0")),
                    "\n  ", kMin, ": ", FloatText(range->Min(0)), "\n  ", kMax, ": ",
                    FloatText(range->Max(0)), "\n  ", kHistogram, ": [ ]\n");
  }
  return absl::StrCat(text, has_ranges ? "" : "[ ]\n", "...\n");
}

}  // namespace fixpoint
