// Generated files are as the code makes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/docs/example_parameters.h"
#include "tests/docs/example_programs.h"
#include "tests/docs/integer_shares.h"
#include "tests/docs/lists.h"
#include "tests/docs/models.h"
#include "tests/testing/reference_data.h"

namespace fixpoint {
namespace {

TEST(GeneratedFiles, ListsAreUpToDate) {
  for (const GeneratedFile& page : ListPages()) {
    EXPECT_EQ(ReadFileOrDie(page.path), page.bytes)
        << "./bazelw run //tests/docs:update writes " << page.path;
  }
}

TEST(GeneratedFiles, ManualNamesEachTarget) {
  const std::string page = ReadFileOrDie("docs/manual.md");
  const absl::StatusOr<GeneratedFile> manual = ManualWithTargets(page);
  ASSERT_TRUE(manual.ok()) << manual.status();
  EXPECT_TRUE(page == manual->bytes)
      << "./bazelw run //tests/docs:update writes the table of targets into docs/manual.md";
}

TEST(GeneratedFiles, ParametersOfTheTourAreThoseOfItsNumbers) {
  const absl::StatusOr<std::vector<GeneratedFile>> parameters = ExampleParameters(".");
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  for (const GeneratedFile& file : *parameters) {
    EXPECT_TRUE(ReadFileOrDie(file.path) == file.bytes)
        << "./bazelw run //tests/docs:update writes " << file.path;
  }
}

TEST(GeneratedFiles, ExampleProgramsAreThoseOfTheirLayers) {
  const absl::StatusOr<std::vector<GeneratedFile>> programs = ExamplePrograms();
  ASSERT_TRUE(programs.ok()) << programs.status();
  for (const GeneratedFile& file : *programs) {
    EXPECT_EQ(ReadFileOrDie(file.path), file.bytes)
        << "./bazelw run //tests/docs:update writes " << file.path;
  }
}

TEST(GeneratedFiles, TableOfModelsIsUpToDateButForTimes) {
  SKIP_WITHOUT_REFERENCE_DATA();
  const std::vector<ModelRow> rows = TranspileModels();
  for (const ModelRow& row : rows) EXPECT_TRUE(row.holds) << row.file << ": " << row.kept;
  EXPECT_EQ(WithoutTimes(ReadFileOrDie("docs/models.md")),
            WithoutTimes(ModelsPage(rows, MeasureIntegerShares())))
      << "./bazelw run --config=opt //tests/docs:update_models writes docs/models.md";
}

TEST(GeneratedFiles, EachQuantizerHasAPageWithWhatTheCodeSays) {
  const absl::StatusOr<std::vector<GeneratedFile>> pages = QuantizerPages(".");
  ASSERT_TRUE(pages.ok()) << pages.status();
  for (const GeneratedFile& page : *pages) {
    EXPECT_EQ(ReadFileOrDie(page.path), page.bytes)
        << "./bazelw run //tests/docs:update writes " << page.path;
    for (const char* part : {"\n## Formula\n", "\n## Gradient\n", "\n## Source\n", "\n## Example\n",
                             "\n```console\n"}) {
      EXPECT_TRUE(absl::StrContains(page.bytes, part)) << page.path << " has no" << part;
    }
  }
}

TEST(ModelsPage, IsComparedWithoutTheLastColumn) {
  EXPECT_EQ(WithoutTimes("| a | 3 | 1.5 |\ntext\n"), "| a | 3 |\ntext\n");
  EXPECT_EQ(WithoutTimes("## b\n| a | 3 |\n"), "## b\n| a | 3 |\n");
}

}  // namespace
}  // namespace fixpoint
