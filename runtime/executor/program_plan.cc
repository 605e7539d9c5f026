#include <memory>
#include <optional>
#include <utility>

#include "ops/computed_once.h"
#include "proto/program/attributes.h"
#include "proto/program/feeds_and_fetches.h"
#include "proto/program/program.h"
#include "runtime/executor/block_crossing.h"
#include "runtime/executor/planner.h"
#include "runtime/executor/schedule.h"

namespace fixpoint::executor {

ProgramPlan::ProgramPlan(const Program& program, const PlanRequest& request)
    : program_(program),
      era_(EraOf(program)),
      fetches_(request.fetches),
      begun_(request.begun),
      keeps_all_(request.keeps_all),
      observation_(request.observation),
      forms_(era_),
      never_negative_(era_) {
  for (const Op& op : program.ops()) {
    if (!IsFeedOrFetch(op)) numbers_.emplace(&op, static_cast<uint32_t>(numbers_.size()));
  }
}

ProgramPlan::~ProgramPlan() = default;

bool ProgramPlan::IsFor(const PlanRequest& request) const {
  return request.fetches == fetches_ && request.begun == begun_ &&
         request.keeps_all == keeps_all_ && request.observation == observation_;
}

std::optional<int> ProgramPlan::ObservedNumber(const Value& value) const {
  if (observation_ == nullptr) return std::nullopt;
  const auto found = observation_->variables.find(value.variable().name());
  return found != observation_->variables.end() ? std::optional(found->second) : std::nullopt;
}

const LiveOps& ProgramPlan::Of(const Block& block, const std::vector<const Value*>& wanted) {
  std::unique_ptr<const LiveOps>& found = live_ops_[{&block, wanted}];
  if (found != nullptr) return *found;
  const auto unread_input = [this](const Op& op) { return UnreadInput(op, begun_); };
  auto live = std::make_unique<LiveOps>(LiveOps{
      Demand(
          block, era_, wanted,
          [this](const Value& value) { return keeps_all_ || ObservedNumber(value).has_value(); },
          unread_input),
      GradientMatcher(era_),
      {}});
  for (const Op& op : block.ops()) {
    if (IsFeedOrFetch(op) || !live->demand.IsLive(op)) continue;
    live->gradients.AddForward(op);
    live->ops.push_back({&op, FindOpPlan(op.type()),
                         BoolAttr(op.desc(), kComputedOnceAttr).value_or(false), forms_.Check(op),
                         ValuesReadBy(op, era_, unread_input(op)), ValuesWritten(op),
                         ValuesFoundInOutputs(op)});
  }
  found = std::move(live);
  return *found;
}

}  // namespace fixpoint::executor
