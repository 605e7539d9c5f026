#include "runtime/data/image_list.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "proto/base/status_macros.h"
#include "proto/file/input_file.h"

namespace fixpoint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostListBytes = size_t{1} << 30;

// The entries of a folder in the order of their names.
absl::StatusOr<std::vector<fs::path>> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    entries.push_back(entry.path());
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(folder.string(), ": cannot be read: ", error.message()));
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool IsImageFile(const fs::path& path) {
  const std::string extension = absl::AsciiStrToLower(path.extension().string());
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

absl::StatusOr<std::vector<ListedImage>> ImagesOfFolder(const std::string& path) {
  std::vector<ListedImage> images;
  int64_t label = 0;
  ASSIGN_OR_RETURN(const std::vector<fs::path> classes, EntriesOf(path));
  for (const fs::path& folder : classes) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) continue;
    ASSIGN_OR_RETURN(const std::vector<fs::path> files, EntriesOf(folder));
    for (const fs::path& file : files) {
      if (IsImageFile(file)) images.push_back({file.string(), label});
    }
    ++label;
  }
  return images;
}

absl::StatusOr<std::vector<ListedImage>> ImagesOfList(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadInputFile(path, kMostListBytes));
  const fs::path folder = fs::path(path).parent_path();
  std::vector<ListedImage> images;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const size_t blank = line.find_last_of(" \t");
    ListedImage image;
    const bool is_image = blank != absl::string_view::npos &&
                          absl::SimpleAtoi(line.substr(blank + 1), &image.label) &&
                          image.label >= 0;
    if (!is_image) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": want a path, a blank and a label of 0 or more"));
    }
    image.path =
        (folder / std::string(absl::StripTrailingAsciiWhitespace(line.substr(0, blank)))).string();
    images.push_back(std::move(image));
  }
  return images;
}

}  // namespace

absl::StatusOr<std::vector<ListedImage>> ListImages(const std::string& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  ASSIGN_OR_RETURN(std::vector<ListedImage> images,
                   is_folder ? ImagesOfFolder(path) : ImagesOfList(path));
  if (!images.empty()) return images;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": has no images; want ",
                   is_folder ? "a folder of .jpg, .jpeg or .png files for each class"
                             : "lines of a path and a label"));
}

}  // namespace fixpoint
