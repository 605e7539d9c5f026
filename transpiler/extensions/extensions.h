// What a user adds to Fixpoint: passes, quantizers and checks of targets. Linked into a tool of
// one's own (tools/transpile_main.h), or loaded from a plugin (plugin.h).

#ifndef FIXPOINT_TRANSPILER_EXTENSIONS_EXTENSIONS_H_
#define FIXPOINT_TRANSPILER_EXTENSIONS_EXTENSIONS_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "ops/quantizer.h"
#include "ops/quantizer_table.h"
#include "transpiler/pipeline/pass.h"
#include "transpiler/plan/target_check.h"

namespace fixpoint {

class Extensions {
 public:
  using MakePass = std::function<std::unique_ptr<Pass>()>;
  using MakeQuantizer = std::function<std::unique_ptr<Quantizer>()>;

  // Adds a pass that pipelines can name; `make` is called for each table of passes. Error
  // (kInvalidArgument), here and below: it makes none; the name is not made of letters, digits and
  // underscores; it is taken, be it by a built-in one of any stage.
  absl::Status AddPass(MakePass make);
  // Adds a quantizer that configurations and targets can name; `make` is called for each table of
  // quantizers. Errors: also those of QuantizerTable::Add.
  absl::Status AddQuantizer(MakeQuantizer make);
  // Adds a check that targets can name.
  absl::Status AddCheck(std::unique_ptr<TargetCheck> check);

  // Adds the passes to those of a stage. Error (kInvalidArgument): a name is taken.
  absl::Status AddPassesTo(PassTable* passes) const;
  // The built-in quantizers and these.
  QuantizerTable Quantizers() const;
  const CheckTable& checks() const { return checks_; }

 private:
  std::vector<MakePass> passes_;
  std::vector<MakeQuantizer> quantizers_;
  CheckTable checks_;
};

}  // namespace fixpoint

#endif  // FIXPOINT_TRANSPILER_EXTENSIONS_EXTENSIONS_H_
