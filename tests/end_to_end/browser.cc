#include "browser.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "subprocess.h"

namespace phalanx::testing_support {

std::string FindBrowser() {
  for (const char* const path :
       {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return "";
}

std::string Browse(const std::string& url, const std::string& folder, int milliseconds) {
  std::vector<std::string> command = {FindBrowser(),
                                      "--headless",
                                      "--disable-gpu",
                                      "--disable-dev-shm-usage",
                                      "--disable-extensions",
                                      "--disable-background-networking",
                                      "--disable-component-update",
                                      "--no-first-run",
                                      "--user-data-dir=" + folder + "/browser",
                                      "--virtual-time-budget=" + std::to_string(milliseconds),
                                      "--dump-dom",
                                      url};
  if (geteuid() == 0) command.insert(command.begin() + 1, "--no-sandbox");
  Subprocess browser(command, {.environment = {{"HOME", folder}}, .input = ""});
  EXPECT_EQ(browser.AwaitExitCode(), 0) << browser.error();
  return browser.output();
}

std::string TextOf(const std::string& page, const std::string& id) {
  const size_t at = page.find(" id=\"" + id + "\"");
  if (at == std::string::npos) {
    ADD_FAILURE() << "no element " << id << " in " << page;
    return "";
  }
  const size_t name = page.rfind('<', at) + 1;
  const std::string end = "</" + page.substr(name, page.find_first_of(" >", name) - name) + ">";
  std::string text;
  bool is_tag = true;  // the element's own
  for (size_t i = at; i < page.size() && page.compare(i, end.size(), end) != 0; ++i) {
    if (page[i] == '<') {
      is_tag = true;
    } else if (page[i] == '>' && is_tag) {
      is_tag = false;
      if (!text.empty() && text.back() != '|') text += '|';
    } else if (!is_tag) {
      text += page[i];
    }
  }
  return text;
}

}  // namespace phalanx::testing_support
