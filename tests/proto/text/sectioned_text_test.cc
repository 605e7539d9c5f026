#include "proto/text/sectioned_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using ::testing::SizeIs;

constexpr char kTwo[] = R"(# A comment.
pattern swish "The product of a value and its sigmoid."
before:   # what is there
  sigmoid(X=x) -> (Out=s)
after:
  swish(X=x) -> (Out=y)

pattern "two words" "Nothing."
before:
)";

std::string ErrorOfPart(const std::string& text, int first_line) {
  return std::string(ParseProgramPart(text, "f.txt", first_line).status().message());
}

std::string ErrorOf(const std::string& text) {
  return std::string(
      ParseSectionedText(text, "f.txt", "pattern", {"before", "after"}).status().message());
}

TEST(SectionedText, ItemsHaveSections) {
  const auto items = ParseSectionedText(kTwo, "f.txt", "pattern", {"before", "after"});
  ASSERT_TRUE(items.ok()) << items.status();
  ASSERT_THAT(*items, SizeIs(2));
  const TextItem& swish = items->front();
  EXPECT_EQ(swish.name, "swish");
  EXPECT_EQ(swish.doc, "The product of a value and its sigmoid.");
  EXPECT_EQ(swish.line, 2);
  EXPECT_EQ(swish.Find("before")->text, "  sigmoid(X=x) -> (Out=s)\n");
  EXPECT_EQ(swish.Find("after")->first_line, 6);
  EXPECT_EQ(items->back().name, "two words");
  EXPECT_EQ(items->back().Find("after"), nullptr);
}

TEST(SectionedText, LinesOfASectionKeepTheirNumbers) {
  const auto items = ParseSectionedText(kTwo, "f.txt", "pattern", {"before", "after"});
  ASSERT_TRUE(items.ok()) << items.status();
  const TextSection& after = *items->front().Find("after");
  const auto part = ParseProgramPart(after.text, "f.txt", after.first_line);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->block.ops(0).type(), "swish");
  EXPECT_THAT(part->op_lines, testing::ElementsAre(6));
  EXPECT_EQ(ErrorOfPart("\n  relu X", 10),
            "f.txt:11:8: found \"X\"; expected \"(\" before the slots of an op, like (X=x)");
  EXPECT_EQ(ErrorOfPart("block 0 {\n}\n", 3),
            "f.txt:3: a program or a block; expected only lines of variables and ops here");
}

TEST(SectionedText, ItemsBuildOnOthersWhereThatIsAllowed) {
  const auto items = ParseSectionedText("quantizer q of \"p 1\" \"Q.\"\n", "f.txt", "quantizer",
                                        {"states"}, Bases::kAllowed);
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ(items->front().base, "p 1");
  EXPECT_EQ(items->front().doc, "Q.");
  EXPECT_EQ(ErrorOf("pattern q of p \"Q.\"\n"),
            "f.txt:1:11: found \"of\"; expected a sentence in quotes that says what it is");
  EXPECT_EQ(ParseSectionedText("quantizer q of \"Q.\"\n", "f.txt", "quantizer", {"states"},
                               Bases::kAllowed)
                .status()
                .message(),
            "f.txt:1: no name between of and the sentence; expected quantizer q of NAME \"what it "
            "is\"");
}

TEST(SectionedText, MistakesAreReportedWithTheirLine) {
  EXPECT_EQ(ErrorOf("# nothing\n"), "f.txt:2: no pattern; expected pattern NAME \"what it is\"");
  EXPECT_EQ(ErrorOf("relu(X=x)\n"),
            "f.txt:1: a line outside of the sections; expected pattern NAME \"what it is\"");
  EXPECT_EQ(ErrorOf("before:\n"),
            "f.txt:1: a section outside of any pattern; expected pattern NAME \"what it is\"");
  EXPECT_EQ(ErrorOf("pattern a \"b\"\nrelu(X=x)\n"),
            "f.txt:2: a line outside of the sections; expected before:, after:");
  EXPECT_EQ(ErrorOf("pattern a \"b\"\nbefor:\n"),
            "f.txt:2: no section of a pattern is called befor; expected before:, after:");
  EXPECT_EQ(ErrorOf("pattern a \"b\"\nbefore:\nbefore:\n"),
            "f.txt:3: another section before of a; expected one of each name");
  EXPECT_EQ(ErrorOf("pattern a \"b\"\npattern a \"c\"\n"),
            "f.txt:2: another pattern \"a\"; the first is on line 1");
  EXPECT_EQ(ErrorOf("pattern a\n"),
            "f.txt:1:10: found the end of the text; expected a sentence in quotes that says what "
            "it is");
  EXPECT_EQ(ErrorOf("pattern \"b.\"  # no name\n"),
            "f.txt:1: no name before the sentence; expected pattern NAME \"what it is\"");
}

}  // namespace
}  // namespace fixpoint
