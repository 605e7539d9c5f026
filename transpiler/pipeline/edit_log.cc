#include "transpiler/pipeline/edit_log.h"

#include "proto/program/program.h"
#include "proto/wire/fingerprint.h"

namespace fixpoint {

EditLog& StoreEditLog(Program* program) {
  EditLog before;
  const bool has_before = program->Proto().has_edit_log();
  if (has_before) before.Swap(program->mutable_edit_log());
  program->ClearEditLog();
  EditLog& log = *program->mutable_edit_log();
  program->MakeEditLog(&log);
  log.set_fingerprint(Fingerprint(program->Proto(), log));
  if (has_before) log.mutable_before()->Swap(&before);
  program->ForgetEdits();
  return log;
}

}  // namespace fixpoint
