// A browser without a window: what a person would see of a page.
#ifndef PHALANX_TESTS_END_TO_END_BROWSER_H_
#define PHALANX_TESTS_END_TO_END_BROWSER_H_

#include <string>

namespace phalanx::testing_support {

// Path of chromium; empty where it isn't installed.
std::string FindBrowser();

// The page's elements as they are after it has run for so long by its own clock, which stands
// still while an answer is awaited. `folder`: for what the browser keeps; removed by the caller.
std::string Browse(const std::string& url, const std::string& folder, int milliseconds = 500);

// What is written in the element with that id, with bars between its parts. Empty, with a failure,
// if there is none. Not for one that has others of its kind inside.
std::string TextOf(const std::string& page, const std::string& id);

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_END_TO_END_BROWSER_H_
