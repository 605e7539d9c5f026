#include "transpiler/extensions/plugin_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "transpiler/extensions/plugin_stamp.h"

namespace fixpoint {
namespace {

// Of a stamp that is not ours; ours has some hundred characters.
constexpr size_t kLongestStamp = 300;

struct CloseElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfFile = std::unique_ptr<Elf, CloseElf>;

template <typename... Parts>
absl::Status Malformed(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// What decides whether a machine can run a file.
struct Machine {
  int word_class;  // 32 or 64 bits
  int byte_order;
  int processor;

  bool operator==(const Machine& other) const {
    return word_class == other.word_class && byte_order == other.byte_order &&
           processor == other.processor;
  }
};

Machine MachineOf(const GElf_Ehdr& header) {
  return {header.e_ident[EI_CLASS], header.e_ident[EI_DATA], header.e_machine};
}

absl::StatusOr<GElf_Ehdr> HeaderOf(Elf* elf) {
  GElf_Ehdr header;
  if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr) {
    return Malformed("is no shared library");
  }
  return header;
}

// That of this process.
absl::StatusOr<Machine> ThisMachine() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const absl::Cleanup close_file = [file] { close(file); };
  const ElfFile elf(elf_begin(file, ELF_C_READ, nullptr));
  ASSIGN_OR_RETURN(const GElf_Ehdr header, HeaderOf(elf.get()));
  return MachineOf(header);
}

absl::StatusOr<std::vector<GElf_Phdr>> SegmentsOf(Elf* elf, uint64_t file_size) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return Malformed("is cut off or damaged");
  std::vector<GElf_Phdr> segments(count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr& segment = segments[i];
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr ||
        segment.p_offset > file_size || segment.p_filesz > file_size - segment.p_offset) {
      return Malformed("is cut off or damaged");
    }
  }
  return segments;
}

// The stamp among the notes of a segment, if it is there.
std::optional<std::string> FindStamp(Elf* elf, const GElf_Phdr& segment) {
  Elf_Data* const notes =
      elf_getdata_rawchunk(elf, static_cast<int64_t>(segment.p_offset), segment.p_filesz,
                           segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
  if (notes == nullptr || notes->d_buf == nullptr) return std::nullopt;
  const char* const bytes = static_cast<const char*>(notes->d_buf);
  GElf_Nhdr note;
  size_t name_at;
  size_t stamp_at;
  for (size_t at = 0; (at = gelf_getnote(notes, at, &note, &name_at, &stamp_at)) > 0;) {
    const absl::string_view name(bytes + name_at, note.n_namesz);
    if (note.n_type != kPluginNoteType ||
        name != absl::string_view(kPluginNoteName, sizeof(kPluginNoteName))) {
      continue;
    }
    const absl::string_view stamp(bytes + stamp_at, note.n_descsz);
    return std::string(stamp.substr(0, stamp.find('\0')));
  }
  return std::nullopt;
}

absl::StatusOr<std::string> StampIn(int file, uint64_t file_size) {
  const ElfFile elf(elf_begin(file, ELF_C_READ, nullptr));
  ASSIGN_OR_RETURN(const GElf_Ehdr header, HeaderOf(elf.get()));
  ASSIGN_OR_RETURN(const Machine here, ThisMachine());
  const Machine there = MachineOf(header);
  if (!(there == here)) {
    const auto text = [](const Machine& machine) {
      return absl::StrCat("processor ", machine.processor, ", class ", machine.word_class,
                          ", byte order ", machine.byte_order);
    };
    return absl::FailedPreconditionError(
        absl::StrCat("is a library for another kind of machine (", text(there),
                     " in its ELF header); want one for this (", text(here), ")"));
  }
  if (header.e_type != ET_DYN) return Malformed("is no shared library");
  ASSIGN_OR_RETURN(const std::vector<GElf_Phdr> segments, SegmentsOf(elf.get(), file_size));
  for (const GElf_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE) continue;
    if (std::optional<std::string> stamp = FindStamp(elf.get(), segment)) return *std::move(stamp);
  }
  return Malformed("is no plugin of Fixpoint: no source of it has FIXPOINT_PLUGIN");
}

absl::Status CheckFile(int file) {
  struct stat facts;
  if (fstat(file, &facts) != 0) return Malformed(std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return Malformed("is no file");
  ASSIGN_OR_RETURN(const std::string stamp, StampIn(file, facts.st_size));
  if (stamp == FIXPOINT_STAMP) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("is a plugin for Fixpoint ", absl::CHexEscape(stamp.substr(0, kLongestStamp)),
                   ", and this is Fixpoint ", FIXPOINT_STAMP, "; build it again for this one"));
}

}  // namespace

absl::Status CheckPluginFile(const std::string& path) {
  elf_version(EV_CURRENT);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    const std::string why = absl::StrCat(path, ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(why) : absl::InvalidArgumentError(why);
  }
  const absl::Cleanup close_file = [file] { close(file); };
  const absl::Status status = CheckFile(file);
  return status.ok() ? status
                     : absl::Status(status.code(), absl::StrCat(path, " ", status.message()));
}

}  // namespace fixpoint
