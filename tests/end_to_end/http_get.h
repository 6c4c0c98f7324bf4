// What a page on this machine says to a program that asks.
#ifndef PHALANX_TESTS_END_TO_END_HTTP_GET_H_
#define PHALANX_TESTS_END_TO_END_HTTP_GET_H_

#include <string>

namespace phalanx::testing_support {

struct HttpAnswer {
  int status = 0;  // 0: nobody has answered
  std::string body;
};

// `url`: http://127.0.0.1:PORT/…; waits for half a minute at most.
HttpAnswer HttpGet(const std::string& url);
HttpAnswer HttpPost(const std::string& url, const std::string& body);

}  // namespace phalanx::testing_support

#endif  // PHALANX_TESTS_END_TO_END_HTTP_GET_H_
