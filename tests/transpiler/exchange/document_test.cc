#include "transpiler/exchange/document.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "transpiler/exchange/document_reader.h"

namespace fixpoint {
namespace {

std::string ErrorOf(const std::string& text) {
  return std::string(ParseDocuments(text, "f.json").status().message());
}

// A node as one line: strings in quotes, with the place where each node begins.
std::string Print(const Node& node) {
  const std::string place = absl::StrCat("@", node.line, ":", node.column);
  std::string text;
  switch (node.kind) {
    case Node::Kind::kScalar:
      return absl::StrCat(node.is_quoted ? "'" : "", node.text, node.is_quoted ? "'" : "", place);
    case Node::Kind::kSequence:
      for (const Node& item : node.items) absl::StrAppend(&text, " ", Print(item));
      return absl::StrCat("[", text, " ]", place);
    case Node::Kind::kMapping:
      for (const NodeField& field : node.fields) {
        absl::StrAppend(&text, " ", Print(field.key), "=", Print(field.value));
      }
      return absl::StrCat("{", text, " }", place);
  }
  return "";
}

TEST(Documents, OfJsonKnowTheirPlaces) {
  const auto documents =
      ParseDocuments("{\"a\":[1,\n\t\"b\", true],\n \"c\" : -1.5e-3}\n", "f.json");
  ASSERT_TRUE(documents.ok()) << documents.status();
  ASSERT_EQ(documents->size(), 1);
  EXPECT_EQ(Print(documents->at(0)),
            "{ 'a'@1:2=[ 1@1:7 'b'@2:2 true@2:7 ]@1:6 'c'@3:2=-1.5e-3@3:8 }@1:1");
}

TEST(Documents, OfYamlAreAnyNumber) {
  const auto documents = ParseDocuments("---\nx: 1\n...\n---\n- 'y:0'\n- z\n...\n", "f.yaml");
  ASSERT_TRUE(documents.ok()) << documents.status();
  ASSERT_EQ(documents->size(), 2);
  EXPECT_EQ(Print(documents->at(0)), "{ x@2:1=1@2:4 }@2:1");
  EXPECT_EQ(Print(documents->at(1)), "[ 'y:0'@5:3 z@6:3 ]@5:1");
  EXPECT_TRUE(ParseDocuments("", "f.yaml")->empty());
}

TEST(Documents, ThatAreMalformedAreRefusedAtTheirPlace) {
  const struct {
    std::string text;
    std::string error;
  } kCases[] = {
      {"{\"a\": 1",
       "f.json:2:1: neither JSON nor YAML: while parsing a flow mapping: did not find "
       "expected ',' or '}'"},
      {"[1, 2\n}",
       "f.json:2:1: neither JSON nor YAML: while parsing a flow sequence: did not find "
       "expected ',' or ']'"},
      {"{\"a\": 1, \"a\": 2}", "f.json:1:10: \"a\" is there twice"},
      {"{\"a\": &x 1}", "f.json:1:7: an anchor or a tag; want plain values, as in JSON"},
      {"[&x 1, *x]", "f.json:1:2: an anchor or a tag; want plain values, as in JSON"},
      {"[*x]", "f.json:1:2: an alias; want plain values, as in JSON"},
      {"{[1]: 2}", "f.json:1:4: a field's name is a list or an object; want a string"},
      {"\"\xff\"", "f.json: byte 1: invalid leading UTF-8 octet; want UTF-8"},
      {std::string(200, '['), "f.json:1:101: more than 100 lists and objects in each other"},
  };
  for (const auto& c : kCases) EXPECT_EQ(ErrorOf(c.text), c.error) << c.text;
}

TEST(DocumentReader, ReadsAFloatToTheBit) {
  const auto documents = ParseDocuments("[0.1, 16777217, 1e-45, 1e39, NaN, \"1\", 0.1f]", "f");
  ASSERT_TRUE(documents.ok());
  const std::vector<Node>& nodes = documents->at(0).items;
  const DocumentReader reader("f");
  EXPECT_EQ(*reader.Float(nodes[0], "x"), 0.1f);
  EXPECT_EQ(*reader.Float(nodes[1], "x"), 16777216.0f);
  EXPECT_EQ(*reader.Float(nodes[2], "x"), 1e-45f);
  EXPECT_EQ(reader.Float(nodes[3], "x").status().message(),
            "f:1:24: x: got 1e39; want a finite number");
  EXPECT_EQ(reader.Float(nodes[4], "x").status().message(),
            "f:1:30: x: got NaN; want a finite number");
  EXPECT_EQ(reader.Float(nodes[5], "x").status().message(),
            "f:1:35: x: got \"1\"; want a finite number");
  EXPECT_EQ(reader.Float(nodes[6], "x").status().message(),
            "f:1:40: x: got 0.1f; want a finite number");
}

}  // namespace
}  // namespace fixpoint
