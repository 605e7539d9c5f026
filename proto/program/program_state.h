// The contents of a Program: shared by the sources of :program, and by nothing else.

#ifndef FIXPOINT_PROTO_PROGRAM_PROGRAM_STATE_H_
#define FIXPOINT_PROTO_PROGRAM_PROGRAM_STATE_H_

#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/program/attributes.h"
#include "proto/program/program.h"
#include "proto/wire/program.pb.h"

namespace fixpoint {

// An interned name and the variables that blocks declare under it.
struct Name {
  std::string text;
  Variable* first = nullptr;  // the others follow by Variable::same_name_
  int declarations = 0;
  bool reserved = false;      // handed out by Rewriter::FreshName
  bool in_attribute = false;  // an attribute names it, or did
};

// Finds names by their text in a table of pointers alone: the smaller the table, the more of a
// large program's stays in the processor's caches.
struct NameText {
  static absl::string_view Of(absl::string_view text) { return text; }
  static absl::string_view Of(const Name* name) { return name->text; }
};
struct NameHash {
  using is_transparent = void;
  template <typename Key>
  size_t operator()(const Key& key) const {
    return absl::Hash<absl::string_view>()(NameText::Of(key));
  }
};
struct NameEq {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return NameText::Of(a) == NameText::Of(b);
  }
};

// The labels of a block's ops are spread over this range, so that there is room between any two.
constexpr uint64_t kOrderRange = uint64_t{1} << 62;

// How deep blocks may be nested, so that recursion over them is bounded.
inline constexpr int kDeepestBlock = 256;

// The passes that made edits, each once.
using EditingPasses = std::vector<const std::string*>;

// The changes to an op since Create or ForgetEdits.
struct OpEdits {
  struct ArgumentEdit {
    bool is_output;
    int slot;
    int index;
    std::optional<std::string> original;  // nothing: the argument was added
  };

  const std::string* inserted_by = nullptr;
  EditingPasses passes;
  std::vector<ArgumentEdit> arguments;
  std::vector<std::pair<int, OpDesc::Attr>> attributes;  // position, old attribute
  int attributes_added = 0;                              // at the end
  std::unique_ptr<OpDesc> original;  // the whole op, if the lists above cannot express the change
};

// Undoes the changes that the lists of `edits` record on an op's message.
void RevertFineEdits(const OpEdits& edits, OpDesc& desc);

// The changes to a variable since Create or ForgetEdits.
struct VariableEdits {
  const std::string* inserted_by = nullptr;
  EditingPasses passes;
  std::unique_ptr<VarDesc> original;
};

// The map of composites before it was changed.
struct CompositesEdit {
  std::optional<std::string> original;
};

// Memory of an arena: freed memory stays there until the arena is destroyed.
class ArenaMemory final : public std::pmr::memory_resource {
 public:
  explicit ArenaMemory(google::protobuf::Arena* arena) : arena_(arena) {}

 private:
  void* do_allocate(size_t size, size_t alignment) override {
    CHECK_LE(alignment, alignof(uint64_t));
    return google::protobuf::Arena::CreateArray<char>(arena_, size);
  }
  void do_deallocate(void*, size_t, size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  google::protobuf::Arena* arena_;
};

struct ProgramState {
  explicit ProgramState(ProgramMessage message) : desc(std::move(message)) {}

  std::string name;
  // Owns every message, those of removed ops and variables too.
  ProgramMessage desc;
  // In the order of the program. After those that it has come blocks that were removed, whose
  // places are taken by the next ones that are added.
  std::deque<Block> blocks;
  int block_count = 0;
  int original_block_count = 0;  // at Create or ForgetEdits
  // The messages of blocks of then in whose places others stand, by their index.
  absl::flat_hash_map<int, BlockDesc*> replaced_blocks;
  ArenaMemory nodes{desc.arena()};
  std::pmr::deque<Op> ops{&nodes};
  std::pmr::deque<Argument> arguments{&nodes};
  std::pmr::deque<Variable> variables{&nodes};
  std::pmr::deque<Value> values{&nodes};
  std::pmr::deque<Name> names{&nodes};
  absl::flat_hash_set<Name*, NameHash, NameEq> name_table;
  absl::flat_hash_map<std::string, int> type_ids;
  absl::flat_hash_map<std::string, int> fresh_counters;
  std::set<std::string> pass_names;
  std::vector<Name*> reserved_names;
  int64_t edit_count = 0;
  bool edited = false;
  std::optional<CompositesEdit> composites_edit;

  // Values that were computed in another epoch are stale.
  uint32_t values_epoch = 1;
  // For names that many blocks declare, so that a lookup does not walk through all of them.
  absl::flat_hash_map<std::pair<const Block*, const Name*>, Variable*> declarations;

  absl::Status Index();
  absl::Status IndexBlocks();
  void IndexVariables();
  absl::Status IndexOps();
  // How deep each block is nested. `with_removed`: as if the removed ops, and blocks that others
  // stand in the place of, were still there.
  std::vector<int> Depths(bool with_removed) const;
  absl::Status CheckDepth(bool with_removed = false) const;

  // Prefetches what indexing an op reads.
  void Prefetch(const OpDesc& op) const;
  Name* Intern(absl::string_view text);
  Variable* Resolve(const Block& block, const Name& name) const;
  // Finds or, for a name that no block declares, creates the variable that an argument means.
  Variable* ResolveOrDeclare(const Block& block, absl::string_view name);

  Variable* NewVariable(Block& block, Name* name, VarDesc* desc);
  // Copies a message to the program's memory. A message that lacks a required field could not be
  // saved.
  template <typename Message>
  Message* Own(const Message& message) {
    CHECK(message.IsInitialized()) << message.InitializationErrorString();
    Message* own = google::protobuf::Arena::CreateMessage<Message>(desc.arena());
    *own = message;
    return own;
  }
  // Makes the message that of the block of its index, which is one of `blocks` or the next one.
  Block& PlaceBlock(BlockDesc* desc);
  // Whether another block, or none, is there now than at Create or ForgetEdits.
  bool IsReplaced(const Block& block) const;
  // Whether the block of that index was added since then.
  bool IsNew(int block) const;
  Op* NewOp(Block& block, OpDesc* desc);
  // Reads the type of an op's message again, and the facts that its attributes carry.
  void ReadOp(Op& op);
  void ReadAttr(Op& op, const OpDesc::Attr& attr);
  // Builds the arguments of an op's message, or rebuilds them.
  void LinkArguments(Op& op);
  void UnlinkArguments(Op& op);
  Argument* NewArgument(Op& op, bool is_output, int slot, int index);
  void Link(Argument& argument, Variable* variable);
  void Unlink(Argument& argument);

  // Whether `run`, blocks that attributes of an op name, come after the op's own in a program of so
  // many blocks.
  absl::Status CheckSubBlocks(const Op& op, const NamedBlocks& run, int block_count) const;
  absl::Status LinkSubBlocks(Op& op);
  void UnlinkSubBlocks(Op& op);
  // Makes the first op after `from` that runs it the owner of each of the blocks, in program order
  // and then from the beginning.
  void FindNextOwners(const Op& from, absl::flat_hash_set<const Block*> orphans);
  // Makes each block's owner the first op that runs it.
  void FindOwners();

  // Inserts an op between its neighbours in the list, and gives it a place in the order.
  void Place(Op& op, Op* after);
  void Unplace(Op& op);
  void ForgetValues() { ++values_epoch; }

  void Flush();
  void FlushBlock(Block& block);

  // Takes an op out of the program; its node keeps its place.
  void RemoveOp(Op& op);
  bool InUse(const Name& name) const;

  void StoreOpEdits(const Block& block, EditLog::BlockEdits& edits) const;
  void StoreVariableEdits(const Block& block, EditLog::BlockEdits& edits) const;
  absl::Status AdoptEdits(const EditLog& log);
  // Adopts which blocks were added and removed.
  absl::Status AdoptBlockEdits(const EditLog& log);
  // Error (kFailedPrecondition): something that was there before lies in, or runs, a block that was
  // added.
  absl::Status CheckAddedBlocks() const;
  // Marks the arguments that the op's adopted edits refer to.
  void MarkEdited(Op& op);
  absl::Status AdoptOpEdits(Block& block, const EditLog::BlockEdits& edits);
  // Moves the `declared` variables of the block back into it, those that the log refers to with
  // their edits; `next` becomes the first that was not moved.
  absl::Status AdoptVariableEdits(Block& block, const EditLog::BlockEdits& edits,
                                  const std::vector<Variable*>& declared, size_t& next);

  OpEdits& EditsOf(Op& op);
  VariableEdits& EditsOf(Variable& variable);
  // The same for an edit that a pass makes, whose name must be one of pass_names.
  template <typename Node>
  auto& EditsOf(Node& node, const std::string* pass) {
    auto& edits = EditsOf(node);
    EditingPasses& passes = edits.passes;
    if (std::find(passes.begin(), passes.end(), pass) == passes.end()) passes.push_back(pass);
    return edits;
  }
  // The edits of an op that was changed or removed.
  void RevertOp(Op& op);
  // Has the blocks be those that the program had.
  void RevertBlocks();
};

}  // namespace fixpoint

#endif  // FIXPOINT_PROTO_PROGRAM_PROGRAM_STATE_H_
