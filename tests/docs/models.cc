#include "tests/docs/models.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "ops/verifier.h"
#include "proto/file/program_file.h"
#include "proto/program/program.h"
#include "tests/docs/integer_shares.h"
#include "tests/testing/reference_data.h"
#include "transpiler/report/account.h"
#include "transpiler/train/quantize_transpiler.h"

namespace fixpoint {
namespace {

std::string KeptText(const Account& account) {
  std::map<std::string, int> kept;
  for (const AccountLine& line : account.lines) {
    for (const auto& [reason, count] : line.kept) kept[reason] += count;
  }
  if (kept.empty()) return "-";
  return absl::StrJoin(kept, ", ", [](std::string* out, const auto& reason) {
    absl::StrAppend(out, reason.second, " `", reason.first, "`");
  });
}

int OpCount(const Program& program) {
  int ops = 0;
  for (int b = 0; b < program.block_count(); ++b) ops += program.block(b).op_count();
  return ops;
}

std::set<std::string> ErrorsOf(const Program& program) {
  std::set<std::string> errors;
  for (const Finding& finding : Verify(program)) {
    if (finding.severity == Severity::kError) errors.insert(finding.message);
  }
  return errors;
}

// Transpile itself has checked the invariants.
bool Holds(const Program& result, const std::set<std::string>& errors_before,
           const std::string& bytes_before) {
  absl::StatusOr<Program> saved = Program::Create(result.Proto());
  if (!saved.ok()) return false;
  const std::set<std::string> errors = ErrorsOf(*saved);
  if (!std::includes(errors_before.begin(), errors_before.end(), errors.begin(), errors.end())) {
    return false;
  }
  if (saved->Proto().has_edit_log() && !Untranspile(&*saved).ok()) return false;
  return saved->Proto().SerializeAsString() == bytes_before;
}

ModelRow TranspileModel(const std::string& path, const std::string& name) {
  ModelRow row;
  row.file = name;
  const absl::Time start = absl::Now();
  absl::StatusOr<LoadedProgram> loaded = LoadProgram(path);
  if (!loaded.ok()) {
    row.kept = std::string(loaded.status().message());
    return row;
  }
  const std::string bytes = loaded->program->SerializeAsString();
  const absl::Time loaded_at = absl::Now();
  absl::StatusOr<Program> program = Program::Create(std::move(loaded->program), name);
  if (!program.ok()) {
    row.kept = std::string(program.status().message());
    return row;
  }
  row.ops = OpCount(*program);
  const std::set<std::string> errors = ErrorsOf(*program);
  const absl::Time verified_at = absl::Now();
  const absl::StatusOr<TranspileResult> result = Transpile(&*program);
  if (result.ok()) program->Proto().SerializeAsString();
  row.milliseconds = absl::ToDoubleMilliseconds((absl::Now() - verified_at) + (loaded_at - start));
  if (!result.ok()) {
    row.kept = std::string(result.status().message());
    return row;
  }
  if (result->left_alone.empty()) {
    const Account account = MakeAccount(result->plan);
    row.quantized = absl::StrCat(account.quantized, " of ", account.total);
    row.kept = KeptText(account);
  } else {
    row.quantized = "-";
    row.kept = absl::StrCat("left alone: ", result->left_alone);
  }
  row.holds = Holds(*program, errors, bytes);
  return row;
}

}  // namespace

std::vector<ModelRow> TranspileModels() {
  std::vector<ModelRow> rows;
  const std::string models = ReferencePath("models");
  for (const std::string& path : ReferencePrograms()) {
    rows.push_back(TranspileModel(path, path.substr(models.size() + 1)));
  }
  return rows;
}

std::string ModelsPage(const std::vector<ModelRow>& rows, const std::vector<IntegerShare>& shares) {
  std::string page =
      "# Every reference program, transpiled\n\n"
      "Made by `./bazelw run --config=opt //tests/docs:update_models` where the programs are "
      "there: in "
      "`shared` beside the\ncheckout, or where `FIXPOINT_REFERENCE_DATA` says. `//tests/docs` "
      "checks "
      "everything but the times.\n\n"
      "The target is `paddle_2_6`, without a configuration. *quantized* is of the ops that have a "
      "quantizable slot; *float* says\nwhy the others are not, by [reason "
      "code](lists/reason_codes.md). *holds*: the result has no error that the program had\nnot, "
      "keeps the seven invariants, and is undone to the bytes it was made of. *ms*: to load, "
      "transpile and serialize it,\nonce, on one core of the machine that wrote this page.\n\n"
      "[models_beside_paddle.md](models_beside_paddle.md) says of each that infers how far what it "
      "gives in float is from what\nPaddlePaddle gives, and how many milliseconds it takes, in "
      "float and on integers, beside Paddle Inference and ONNX Runtime.\n\n"
      "| program | ops | quantized | float, or why left alone | holds | ms |\n"
      "|---|--:|--:|---|---|--:|\n";
  int quantized = 0;
  int left_alone = 0;
  int ops = 0;
  double milliseconds = 0;
  for (const ModelRow& row : rows) {
    absl::StrAppend(&page, "| `", row.file, "` | ", row.ops, " | ", row.quantized, " | ", row.kept,
                    " | ", row.holds ? "yes" : "no",
                    absl::StrFormat(" | %.1f |\n", row.milliseconds));
    quantized += row.quantized != "-" && !absl::StartsWith(row.quantized, "0 ");
    left_alone += row.quantized == "-";
    ops += row.ops;
    milliseconds += row.milliseconds;
  }
  absl::StrAppend(&page, "| ", rows.size(), " programs | ", ops, " | ", quantized, " programs | ",
                  left_alone, " left alone | ", absl::StrFormat("| %.1f |\n\n", milliseconds));
  return absl::StrCat(page, IntegerSharesSection(shares));
}

std::string WithoutTimes(absl::string_view page) {
  std::vector<std::string> lines = absl::StrSplit(page, '\n');
  for (std::string& line : lines) {
    if (absl::StartsWith(line, "## ")) break;
    if (!absl::EndsWith(line, " |")) continue;
    line.resize(line.rfind('|', line.size() - 2) + 1);
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace fixpoint
