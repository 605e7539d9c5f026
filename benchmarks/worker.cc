#include "benchmarks/worker.h"

#include <glog/logging.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "benchmarks/clock.h"
#include "benchmarks/networks.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/peak_memory.h"

namespace fixpoint {
namespace {

using google::protobuf::Struct;

std::string TextOf(const Struct& message, const std::string& field) {
  const auto found = message.fields().find(field);
  return found == message.fields().end() ? "" : found->second.string_value();
}

int64_t NumberOf(const Struct& message, const std::string& field) {
  const auto found = message.fields().find(field);
  return found == message.fields().end() ? 0 : static_cast<int64_t>(found->second.number_value());
}

void Set(Struct* message, const std::string& field, double number) {
  (*message->mutable_fields())[field].set_number_value(number);
}

void Set(Struct* message, const std::string& field, const std::string& text) {
  (*message->mutable_fields())[field].set_string_value(text);
}

double PeakMegabytes() { return static_cast<double>(PeakMemoryBytes()) / (1 << 20); }

std::string WithoutUnderscores(const std::string& name) {
  return absl::StrReplaceAll(name, {{"_", ""}});
}

absl::StatusOr<std::string> NetworkNamed(const std::string& model) {
  for (const std::string& name : NetworkNames()) {
    if (WithoutUnderscores(name) == WithoutUnderscores(model)) return name;
  }
  return absl::NotFoundError(absl::StrCat("there is no model \"", model, "\"; want one of ",
                                          absl::StrJoin(NetworkNames(), ", ")));
}

using Load = std::function<absl::StatusOr<std::unique_ptr<TimedWork>>(const Struct&)>;

absl::StatusOr<std::unique_ptr<TimedWork>> LoadNetwork(const MakeWork& make_work,
                                                       const Struct& request) {
  const absl::StatusOr<std::string> name = NetworkNamed(TextOf(request, "model"));
  if (!name.ok()) return name.status();
  if (NumberOf(request, "batch") < 1 || NumberOf(request, "threads") < 1) {
    return absl::InvalidArgumentError("want a batch of 1 or more, and 1 thread or more");
  }
  return make_work({*name, TextOf(request, "variant"), NumberOf(request, "batch"),
                    static_cast<int>(NumberOf(request, "threads"))});
}

class Worker {
 public:
  explicit Worker(Load load) : load_(std::move(load)) {}

  absl::StatusOr<Struct> Answer(const Struct& request) {
    const std::string command = TextOf(request, "cmd");
    if (command == "info") {
      Struct answer;
      Set(&answer, "tool", "fixpoint");
      return answer;
    }
    if (command == "load") return Start(request);
    if (command == "time") return Time(request);
    if (command == "drop") {
      works_.erase(TextOf(request, "slot"));
      return Struct();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("cmd is \"", command, "\"; want info, load, time, drop or exit"));
  }

 private:
  absl::StatusOr<Struct> Start(const Struct& request) {
    const double begin = WallSeconds();
    absl::StatusOr<std::unique_ptr<TimedWork>> work = load_(request);
    if (!work.ok()) return work.status();
    (*work)->Run();
    works_[TextOf(request, "slot")] = *std::move(work);
    Struct answer;
    Set(&answer, "load_s", WallSeconds() - begin);
    Set(&answer, "peak_mb", PeakMegabytes());
    return answer;
  }

  absl::StatusOr<Struct> Time(const Struct& request) {
    const auto found = works_.find(TextOf(request, "slot"));
    const int64_t runs = NumberOf(request, "iters");
    if (found == works_.end() || runs < 1) {
      return absl::InvalidArgumentError("want a slot that was loaded, and 1 run or more");
    }
    const double wall = WallSeconds();
    double cpu = 0;
    for (int64_t i = 0; i < runs; ++i) cpu += found->second->Run();
    Struct answer;
    Set(&answer, "wall_ms", 1e3 * (WallSeconds() - wall) / static_cast<double>(runs));
    Set(&answer, "cpu_ms", 1e3 * cpu / static_cast<double>(runs));
    Set(&answer, "peak_mb", PeakMegabytes());
    return answer;
  }

  const Load load_;
  absl::flat_hash_map<std::string, std::unique_ptr<TimedWork>> works_;  // by slot
};

void Serve(Load load) {
  Worker worker(std::move(load));
  for (std::string line; std::getline(std::cin, line);) {
    Struct request;
    const auto parsed = google::protobuf::util::JsonStringToMessage(line, &request);
    if (parsed.ok() && TextOf(request, "cmd") == "exit") return;
    absl::StatusOr<Struct> answer = absl::InvalidArgumentError("the line is no JSON object");
    if (parsed.ok()) answer = worker.Answer(request);
    if (!answer.ok()) {
      const std::string why(answer.status().message());
      answer = Struct();
      Set(&*answer, "err", why);
    }
    (*answer->mutable_fields())["ok"].set_bool_value(answer->fields().count("err") == 0);
    std::string text;
    CHECK(google::protobuf::util::MessageToJsonString(*answer, &text).ok());
    std::cout << text << std::endl;
  }
}

}  // namespace

void ServeWork(const MakeWork& make_work) {
  Serve([&make_work](const Struct& request) { return LoadNetwork(make_work, request); });
}

void ServeModelWork(const MakeModelWork& make_work) {
  Serve([&make_work](const Struct& request) {
    return make_work({TextOf(request, "model"), TextOf(request, "feeds")});
  });
}

}  // namespace fixpoint
