#include "tests/property/random_pattern.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "transpiler/patterns/pattern_file.h"

namespace fixpoint {
namespace {

// <A>, <B> and <C> are captures, <R> and <S> results, other letters inner values of either side.
struct Identity {
  const char* one;
  const char* other;
  const char* where = "";
  bool is_computed = false;  // by `other`, which is therefore never looked for
};

constexpr Identity kIdentities[] = {
    {"elementwise_add(X=<A>, Y=<B>) -> (Out=<I>) {axis=-1}\n"
     "elementwise_add(X=<I>, Y=<C>) -> (Out=<R>) {axis=-1}",
     "elementwise_add(X=<B>, Y=<C>) -> (Out=<I>) {axis=-1}\n"
     "elementwise_add(X=<A>, Y=<I>) -> (Out=<R>) {axis=-1}"},
    {"elementwise_add(X=<A>, Y=<B>) -> (Out=<I>) {axis=-1}\n"
     "elementwise_mul(X=<I>, Y=<C>) -> (Out=<R>) {axis=-1}",
     "elementwise_mul(X=<A>, Y=<C>) -> (Out=<I>) {axis=-1}\n"
     "elementwise_mul(X=<B>, Y=<C>) -> (Out=<J>) {axis=-1}\n"
     "elementwise_add(X=<I>, Y=<J>) -> (Out=<R>) {axis=-1}"},
    {"elementwise_sub(X=<A>, Y=<B>) -> (Out=<R>) {axis=-1}",
     "scale(X=<B>) -> (Out=<I>) {scale=-1.0, bias=0.0}\n"
     "elementwise_add(X=<A>, Y=<I>) -> (Out=<R>) {axis=-1}"},
    {"square(X=<A>) -> (Out=<R>)", "elementwise_mul(X=<A>, Y=<A>) -> (Out=<R>) {axis=-1}"},
    {"sigmoid(X=<A>) -> (Out=<R>)",
     "scale(X=<A>) -> (Out=<I>) {scale=0.5, bias=0.0}\n"
     "tanh(X=<I>) -> (Out=<J>)\n"
     "scale(X=<J>) -> (Out=<R>) {scale=0.5, bias=0.5}"},
    {"elementwise_max(X=<A>, Y=<B>) -> (Out=<R>) {axis=-1}",
     "elementwise_sub(X=<A>, Y=<B>) -> (Out=<I>) {axis=-1}\n"
     "relu(X=<I>) -> (Out=<J>)\n"
     "elementwise_add(X=<B>, Y=<J>) -> (Out=<R>) {axis=-1}"},
    {"elementwise_min(X=<A>, Y=<B>) -> (Out=<R>) {axis=-1}",
     "scale(X=<A>) -> (Out=<I>) {scale=-1.0, bias=0.0}\n"
     "scale(X=<B>) -> (Out=<J>) {scale=-1.0, bias=0.0}\n"
     "elementwise_max(X=<I>, Y=<J>) -> (Out=<K>) {axis=-1}\n"
     "scale(X=<K>) -> (Out=<R>) {scale=-1.0, bias=0.0}"},
    {"scale(X=<A>) -> (Out=<I>) {scale=-1.0, bias=0.0}\n"
     "tanh(X=<I>) -> (Out=<R>)",
     "tanh(X=<A>) -> (Out=<I>)\n"
     "scale(X=<I>) -> (Out=<R>) {scale=-1.0, bias=0.0}"},
    {"scale(X=<A>) -> (Out=<I>) {scale=\"<a>\", bias=0.0}\n"
     "relu(X=<I>) -> (Out=<R>)",
     "relu(X=<A>) -> (Out=<I>)\n"
     "scale(X=<I>) -> (Out=<R>) {scale=\"<a>\", bias=0.0}",
     "<a> > 0.0"},
    {"scale(X=<A>) -> (Out=<I>) {scale=0.5, bias=0.0}\n"
     "scale(X=<I>) -> (Out=<R>) {scale=-4.0, bias=1.0}",
     "scale(X=<A>) -> (Out=<R>) {scale=-2.0, bias=1.0}"},
    {"scale(X=<A>) -> (Out=<I>) {scale=\"<a>\", bias=0.0}\n"
     "scale(X=<B>) -> (Out=<J>) {scale=\"<a>\", bias=0.0}\n"
     "elementwise_add(X=<I>, Y=<J>) -> (Out=<R>) {axis=-1}",
     "elementwise_add(X=<A>, Y=<B>) -> (Out=<I>) {axis=-1}\n"
     "scale(X=<I>) -> (Out=<R>) {scale=\"<a>\", bias=0.0}"},
    {"scale(X=<A>) -> (Out=<I>) {scale=\"<a>\", bias=0.0}\n"
     "scale(X=<I>) -> (Out=<R>) {scale=-0.5, bias=0.25}",
     "scale(X=<A>) -> (Out=<R>) {scale=\"<a> * -0.5\", bias=\"0.5 - 0.25\"}", "<a> > 0.0", true},
    {"transpose2(X=<A>) -> (Out=<I>, XShape=<J>) {axis=[<swapped>]}\n"
     "tanh(X=<I>) -> (Out=<K>)\n"
     "transpose2(X=<K>) -> (Out=<R>, XShape=<L>) {axis=[<swapped>]}",
     "tanh(X=<A>) -> (Out=<R>)"},
    {"reshape2(X=<A>) -> (Out=<I>, XShape=<J>) {shape=[-1]}\n"
     "square(X=<I>) -> (Out=<K>)\n"
     "reshape2(X=<K>) -> (Out=<R>, XShape=<L>) {shape=[<dims>]}",
     "square(X=<A>) -> (Out=<R>)"},
    {"elementwise_sub(X=<A>, Y=<B>) -> (Out=<I>) {axis=-1}\n"
     "square(X=<I>) -> (Out=<R>)",
     "square(X=<A>) -> (Out=<I>)\n"
     "square(X=<B>) -> (Out=<J>)\n"
     "elementwise_mul(X=<A>, Y=<B>) -> (Out=<K>) {axis=-1}\n"
     "scale(X=<K>) -> (Out=<L>) {scale=-2.0, bias=0.0}\n"
     "elementwise_add(X=<I>, Y=<J>) -> (Out=<M>) {axis=-1}\n"
     "elementwise_add(X=<M>, Y=<L>) -> (Out=<R>) {axis=-1}"},
    {"tanh(X=<A>) -> (Out=<I>)\n"
     "elementwise_add(X=<I>, Y=<B>) -> (Out=<S>) {axis=-1}\n"
     "elementwise_sub(X=<I>, Y=<B>) -> (Out=<R>) {axis=-1}",
     "tanh(X=<A>) -> (Out=<I>)\n"
     "scale(X=<B>) -> (Out=<J>) {scale=-1.0, bias=0.0}\n"
     "elementwise_add(X=<B>, Y=<I>) -> (Out=<S>) {axis=-1}\n"
     "elementwise_add(X=<I>, Y=<J>) -> (Out=<R>) {axis=-1}"},
};

class PatternWriter {
 public:
  PatternWriter(const std::vector<int64_t>& dims, Random& random) : dims_(dims), random_(random) {}

  std::string Write(const std::string& name) {
    const int identities = 1 + random_.Below(3);
    for (int i = 0; i < identities; ++i) {
      // A result that the next identity reads goes away with it, but for some.
      const bool is_inner = i + 1 < identities && !random_.OneIn(5);
      Append(kIdentities[random_.Below(std::size(kIdentities))], is_inner);
    }
    const std::string any_dims = absl::StrJoin(std::vector<int>(dims_.size(), -1), ",");
    if (random_.OneIn(4)) {
      before_.insert(before_.begin(),
                     absl::StrCat("var ", random_.OneOf(captures_), " f32[", any_dims, "]"));
    }
    if (random_.OneIn(4)) {
      where_.push_back(absl::StrCat("rank(", random_.OneOf(captures_), ") == ", dims_.size()));
    }
    if (random_.OneIn(4)) {
      where_.push_back(
          absl::StrCat("extent(", random_.OneOf(captures_), ", -1) == ", dims_.back()));
    }
    if (random_.OneIn(4)) where_.push_back(absl::StrCat("readers(", result_, ") < 3"));
    const auto section = [](const std::vector<std::string>& lines) {
      return absl::StrCat("  ", absl::StrJoin(lines, "\n  "), "\n");
    };
    return absl::StrCat("pattern ", name, " \"An identity.\"\nbefore:\n", section(before_),
                        where_.empty() ? "" : absl::StrCat("where:\n", section(where_)), "after:\n",
                        section(after_));
  }

 private:
  // An identity of the result so far and other captures. Whether its own result is an inner value.
  void Append(const Identity& identity, bool is_inner) {
    std::map<std::string, std::string> names;
    const std::string number = absl::StrCat(++count_);
    for (const char* capture : {"<A>", "<B>", "<C>"}) {
      const bool is_there = absl::StrContains(identity.one, capture);
      if (!is_there) continue;
      if (!result_.empty() && capture == std::string("<A>")) {
        names[capture] = result_;
      } else if (!captures_.empty() && random_.OneIn(4)) {
        names[capture] = random_.OneOf(captures_);
      } else {
        captures_.push_back(absl::StrCat("capture", captures_.size()));
        names[capture] = captures_.back();
      }
    }
    for (const char* name : {"I", "J", "K", "L", "M", "R", "S"}) {
      names[absl::StrCat("<", name, ">")] = absl::StrCat(name, number);
    }
    names["<a>"] = absl::StrCat("$a", number);
    std::vector<int> swapped;
    for (size_t i = 0; i < dims_.size(); ++i) swapped.push_back(static_cast<int>(i));
    std::swap(swapped.back(), swapped[swapped.size() - 2]);
    names["<swapped>"] = absl::StrJoin(swapped, ", ");
    names["<dims>"] = absl::StrJoin(dims_, ", ");
    const std::string last_after = std::exchange(
        result_after_, is_inner ? absl::StrCat("R", number, "_after") : absl::StrCat("R", number));
    const bool is_reversed = !identity.is_computed && random_.OneIn(2);
    Add(is_reversed ? identity.other : identity.one, names, before_);
    // Inner values of the two sides are different ones.
    for (const char* name : {"I", "J", "K", "L", "M"}) {
      names[absl::StrCat("<", name, ">")] = absl::StrCat(name, number, "_after");
    }
    const std::string result = std::exchange(names["<R>"], result_after_);
    if (!result_.empty()) names["<A>"] = last_after;
    Add(is_reversed ? identity.one : identity.other, names, after_);
    if (identity.where[0] != '\0') Add(identity.where, names, where_);
    result_ = result;
  }

  static void Add(const char* text, const std::map<std::string, std::string>& names,
                  std::vector<std::string>& lines) {
    const std::string filled = absl::StrReplaceAll(text, names);
    for (const absl::string_view line : absl::StrSplit(filled, '\n')) lines.emplace_back(line);
  }

  const std::vector<int64_t>& dims_;
  Random& random_;
  int count_ = 0;
  std::vector<std::string> captures_;
  std::string result_;        // of `before` so far
  std::string result_after_;  // the same of `after`
  std::vector<std::string> before_;
  std::vector<std::string> where_;
  std::vector<std::string> after_;
};

}  // namespace

absl::StatusOr<RandomPattern> MakeRandomPattern(const std::string& name,
                                                const std::vector<int64_t>& dims, Random& random) {
  RandomPattern made;
  made.text = PatternWriter(dims, random).Write(name);
  absl::StatusOr<std::vector<Pattern>> patterns = ParsePatterns(made.text, "random");
  if (patterns.ok()) {
    made.patterns = *std::move(patterns);
  } else if (!absl::StrContains(patterns.status().message(), "it would be applied for ever")) {
    return absl::Status(patterns.status().code(),
                        absl::StrCat(std::string(patterns.status().message()), "\n", made.text));
  }
  return made;
}

}  // namespace fixpoint
