#include "proto/diff/op_likeness.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "proto/program/program.h"
#include "proto/text/program_text.h"

namespace fixpoint {
namespace {

using Key = uint64_t;

template <typename... Parts>
Key Combine(const Parts&... parts) {
  return absl::HashOf(parts...);
}

// A sum, because the order of attributes does not matter.
Key AttributesKey(const OpDesc& op, const DiffOptions& options) {
  Key key = 0;
  for (const OpDesc::Attr& attr : op.attrs()) {
    if (attr.type() == AttrType::BLOCK || attr.type() == AttrType::BLOCKS) continue;
    if (options.ignore_debug_attributes && IsDebugAttr(attr.name())) continue;
    key += Combine(attr.SerializePartialAsString());
  }
  return key;
}

// A sum over arguments, because the order of slots does not matter. `argument_key` gives the key
// of what an argument names.
template <typename ArgumentKey>
Key ArgumentsKey(absl::Span<const Argument* const> arguments, const ArgumentKey& argument_key) {
  Key key = 0;
  for (const Argument* argument : arguments) {
    key += Combine(argument->slot_name(), argument->index(), argument_key(*argument));
  }
  return key;
}

Key NameKey(const Argument& argument) { return Combine(argument.name()); }

std::vector<Key> NameLevels(const Op& op, const DiffOptions& options) {
  const Key outputs = ArgumentsKey(op.outputs(), NameKey);
  return {
      Combine(op.type(), AttributesKey(op.desc(), options), ArgumentsKey(op.inputs(), NameKey),
              outputs),
      Combine(op.type(), outputs),
      Combine(op.type()),
  };
}

// Walks through a program in order and tracks which op last wrote each temporary.
class DefinitionLevels {
 public:
  DefinitionLevels(const NamedVariables& named, const DiffOptions& options)
      : named_(named), options_(options) {}

  std::vector<Key> Next(const Op& op) {
    const auto named_key = [this](const Argument& argument) {
      return IsTemporary(argument) ? Key{0} : NameKey(argument);
    };
    const auto whole_key = [this](const Argument& argument) { return KeyIn(whole_, argument); };
    const auto writer_key = [this](const Argument& argument) { return KeyIn(writer_, argument); };
    const Key content = Combine(op.type(), AttributesKey(op.desc(), options_));
    const Key named_arguments =
        Combine(ArgumentsKey(op.inputs(), named_key), ArgumentsKey(op.outputs(), named_key));
    const Key computation = Combine(content, named_arguments, ArgumentsKey(op.inputs(), whole_key));
    const Key neighbourhood =
        Combine(content, named_arguments, ArgumentsKey(op.inputs(), writer_key));
    for (const Argument* output : op.outputs()) {
      if (!IsTemporary(*output)) continue;
      whole_[output->variable()] = Combine(computation, output->slot_name(), output->index());
      writer_[output->variable()] = Combine(op.type(), output->slot_name(), output->index());
    }
    return {computation, neighbourhood, Combine(op.type(), named_arguments), Combine(op.type())};
  }

 private:
  using KeyOfVariable = absl::flat_hash_map<const Variable*, Key>;

  bool IsTemporary(const Argument& argument) const {
    return argument.variable() != nullptr && !named_.Contains(*argument.variable());
  }

  // 0 for variables that are known by name, and for a temporary that is not yet written.
  Key KeyIn(const KeyOfVariable& keys, const Argument& argument) const {
    const auto it = IsTemporary(argument) ? keys.find(argument.variable()) : keys.end();
    return it == keys.end() ? Key{0} : it->second;
  }

  const NamedVariables& named_;
  const DiffOptions& options_;
  KeyOfVariable whole_;
  KeyOfVariable writer_;
};

}  // namespace

std::vector<std::vector<std::vector<uint64_t>>> OpLikenessKeys(const Program& program,
                                                               const NamedVariables& named,
                                                               const DiffOptions& options) {
  DefinitionLevels definitions(named, options);
  std::vector<std::vector<std::vector<uint64_t>>> keys(program.block_count());
  for (int i = 0; i < program.block_count(); ++i) {
    keys[i].resize(options.ignore_temporary_names ? 4 : 3);
    for (const Op& op : program.block(i).ops()) {
      const std::vector<Key> levels =
          options.ignore_temporary_names ? definitions.Next(op) : NameLevels(op, options);
      for (size_t level = 0; level < levels.size(); ++level)
        keys[i][level].push_back(levels[level]);
    }
  }
  return keys;
}

}  // namespace fixpoint
