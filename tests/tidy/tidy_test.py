#!/usr/bin/env python3
"""Feeds the checks bad snippets, which they must find, and good ones, which they must let pass."""

import os
import tempfile
import unittest

import checks
import law
import source
import tidy


def rules(check, path, text):
    return [finding.rule for finding in check(path, text)]


def long_function(lines, signature="void Long()"):
    return f"{signature} {{\n" + "  Call();\n" * (lines - 2) + "}\n"


class Layers(unittest.TestCase):
    def check(self, path, include):
        return rules(checks.check_layers, path, f'#include "{include}"\n')

    def test_a_transport_may_not_see_another(self):
        self.assertEqual(self.check("transports/ucx/wire.cc", "shm/segment.h"), ["layers"])
        self.assertEqual(self.check("transports/ucx/wire.cc", "spi/link.h"), [])

    def test_the_planner_may_not_see_the_engine(self):
        self.assertEqual(self.check("src/plan/planner.cc", "engine/plan_runner.h"), ["layers"])
        self.assertEqual(self.check("src/plan/planner.cc", "plan/plan.h"), [])

    def test_every_room_sees_the_vocabulary_but_not_the_public_interface(self):
        self.assertEqual(self.check("src/plan/planner.cc", "phalanx/types.h"), [])
        self.assertEqual(self.check("src/plan/planner.cc", "phalanx/session.h"), ["layers"])
        self.assertEqual(self.check("src/api/session.cc", "phalanx/session.h"), [])

    def test_a_family_of_rooms_is_named_by_its_beginning(self):
        self.assertEqual(self.check("src/control/agent/agent.cc", "control_channel/frame.h"), [])
        self.assertEqual(self.check("src/engine/engine.cc", "control_client/client.h"), ["layers"])

    def test_the_longest_folder_name_counts(self):
        self.assertEqual(checks.room_of("transports/shm/segment.cc"), "transports/shm")
        self.assertEqual(rules(checks.check_layers, "transports/new/x.cc", ""), ["layers"])

    def test_a_room_offers_what_the_law_knows(self):
        self.assertEqual(rules(checks.check_layers, "src/plan/include/plan/x.h", ""), [])
        self.assertEqual(rules(checks.check_layers, "src/plan/include/odd/x.h", ""), ["layers"])

    def test_tests_see_everything(self):
        self.assertEqual(self.check("tests/unit/plan/plan_test.cc", "engine/plan_runner.h"), [])


class Vendors(unittest.TestCase):
    def check(self, path, include):
        return rules(checks.check_vendors, path, f"#include <{include}>\n")

    def test_each_stays_in_its_room(self):
        self.assertEqual(self.check("transports/ofi/wire.cc", "ucp/api/ucp.h"), ["vendors"])
        self.assertEqual(self.check("transports/ucx/wire.cc", "ucp/api/ucp.h"), [])
        self.assertEqual(self.check("transports/ucx/wire.cc", "rdma/fabric.h"), ["vendors"])
        self.assertEqual(self.check("src/engine/engine.cc", "asio.hpp"), ["vendors"])
        self.assertEqual(self.check("src/control/agent/agent.cc", "asio.hpp"), [])
        self.assertEqual(self.check("src/plan/plan.cc", "hwy/highway.h"), ["vendors"])
        self.assertEqual(self.check("src/device/cuda.cc", "cuda_runtime.h"), ["vendors"])
        self.assertEqual(self.check("src/base/check.cc", "gtest/gtest.h"), ["vendors"])

    def test_the_client_does_without_sockets_library_and_tls(self):
        self.assertEqual(self.check("src/control/client/client.cc", "asio/io_context.hpp"), ["vendors"])
        self.assertEqual(self.check("src/control/client/client.cc", "openssl/ssl.h"), ["vendors"])


class Pure(unittest.TestCase):
    def check(self, line, path="src/plan/planner.cc"):
        return rules(checks.check_pure, path, line + "\n")

    def test_bad(self):
        for line in ["#include <thread>", "#include <mutex>", "#  include <chrono>",
                     "#include <sys/socket.h>", "#include <fstream>", "#include <unistd.h>",
                     "auto now = Clock::now();", 'auto v = getenv("A");', "auto v = std::getenv(name);",
                     "int x = rand();", "usleep(1);", "int fd = ::open(path, 0);", "time(nullptr);",
                     "std::random_device seed;", "thread_local int x;"]:
            with self.subTest(line):
                self.assertEqual(self.check(line), ["pure"])

    def test_good(self):
        for line in ["#include <vector>", "// #include <thread>", 'Say("Clock::now()");',
                     "int64_t runtime(int x);", "link.open(path);", "/* rand() */", "Rand();",
                     "auto time = end - begin;", "Time time_ms(3);"]:
            with self.subTest(line):
                self.assertEqual(self.check(line), [])

    def test_only_pure_rooms(self):
        self.assertEqual(self.check("#include <thread>", "src/engine/engine.cc"), [])
        self.assertEqual(self.check("#include <thread>", "ordering/core.cc"), ["pure"])


class Shipped(unittest.TestCase):
    def check(self, line, path="transports/shm/wait.cc"):
        return rules(checks.check_shipped, path, line + "\n")

    def test_bad(self):
        for line in ["std::this_thread::sleep_for(wait);", "usleep(10);", "nanosleep(&t, nullptr);",
                     "::sleep(1);", "sleep(1);", "std::atomic_thread_fence(order);"]:
            with self.subTest(line):
                self.assertEqual(self.check(line), ["shipped"])

    def test_good(self):
        for line in ["// sleep_for(x) would be wrong", "worker.sleep(1);", "Sleep();", 'Log("sleep(");']:
            with self.subTest(line):
                self.assertEqual(self.check(line), [])
        self.assertEqual(self.check("usleep(10);", "tests/end_to_end/kill_test.cc"), [])


class Style(unittest.TestCase):
    def test_banned_words(self):
        for word in law.BANNED_WORDS:
            self.assertEqual(rules(checks.check_words, "src/a.cc", f"// {word}: later\n"), ["words"])
        self.assertEqual(rules(checks.check_words, "a.cc", f"// {law.BANNED_WORDS[3]}NEXTLINE\n"), ["words"])
        self.assertEqual(rules(checks.check_words, "a.cc", "// todos are hacked\n"), [])

    def test_header_comment(self):
        self.assertEqual(rules(checks.check_header_comment, "a.h", "#ifndef A_H_\n"), ["comment"])
        self.assertEqual(rules(checks.check_header_comment, "a.h", "// What it is.\n#ifndef A_H_\n"), [])

    def test_function_length(self):
        def check(lines):
            return rules(checks.check_lengths, "a.cc", long_function(lines))
        self.assertEqual(check(law.LONGEST_FUNCTION), [])
        self.assertEqual(check(law.LONGEST_FUNCTION + 1), ["function-length"])

    def test_file_length(self):
        def check(lines):
            return rules(checks.check_lengths, "a.cc", "int x;\n" * lines)
        self.assertEqual(check(law.LONGEST_FILE), [])
        self.assertEqual(check(law.LONGEST_FILE + 1), ["file-length"])

    def test_public_links(self):
        def check(header):
            return [finding.message for finding in checks.check_public_links({
                "src/x/CMakeLists.txt": "phalanx_room(x\n  SOURCES a.cc\n  PUBLIC phalanx::plan absl::status\n"
                                        "  PRIVATE phalanx::spi)\n",
                "src/x/include/x/x.h": header,
                "src/plan/CMakeLists.txt": "phalanx_room(plan SOURCES b.cc)\n",
                "src/plan/include/planning/plan.h": "",
                "transports/spi/CMakeLists.txt": "phalanx_room(spi SOURCES c.cc)\n"})]
        self.assertEqual(check('#include "planning/plan.h"\n'), [])
        found = check('#include "plan/plan.h"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("phalanx::plan", found[0])


class Source(unittest.TestCase):
    def names(self, text):
        return [(function.name, function.length) for function in source.functions(text)]

    def test_literals_and_comments_hide_braces(self):
        text = 'void F() {\n  Say("}");  // }\n  char c = \'}\';\n  auto r = R"x(}\n)")x";\n  int n = 1\'000;\n}\n'
        self.assertEqual(self.names(text), [("F", 7)])

    def test_functions_inside_of_namespaces_and_classes(self):
        text = ("namespace a {\nclass B final : public C<int()> {\n public:\n  int Get() const {\n"
                "    return x_;\n  }\n  int x_{3};\n};\n}  // namespace a\n")
        self.assertEqual(self.names(text), [("Get", 3)])

    def test_constructor_with_initialisers(self):
        text = "A::A(int x)\n    : a_{x}, b_(1), c_{[] { return 1; }()} {\n  Call();\n}\nvoid F() {}\n"
        self.assertEqual(self.names(text), [("A::A", 4), ("F", 1)])

    def test_lambdas_belong_to_their_function(self):
        text = "void F() {\n  auto g = [](int x) {\n    return x;\n  };\n}\n"
        self.assertEqual(self.names(text), [("F", 5)])

    def test_tables_are_not_functions(self):
        text = "constexpr Entry kTable[] = {\n  Entry(1),\n  Entry(2),\n};\nenum class E : int { kA };\n"
        self.assertEqual(self.names(text), [])

    def test_operators_and_returned_structs(self):
        text = "A& A::operator=(const A& o) {\n}\nstruct B Make(int x) {\n}\nbool operator==(A a, A b) {\n}\n"
        self.assertEqual([length for _, length in self.names(text)], [2, 2, 2])

    def test_includes_in_comments_do_not_count(self):
        text = '// #include "a.h"\n/*\n#include "b.h"\n*/\n#include <c.h>\n'
        self.assertEqual(source.includes(text), [(5, "c.h")])


class Ratchet(unittest.TestCase):
    def scan(self, ratchet, lines):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "tests/tidy"))
            for path, text in {tidy.RATCHET: ratchet, "tests/a.cc": long_function(lines)}.items():
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return [finding.rule for finding in tidy.scan(root)[1]]

    def test_without_an_entry(self):
        self.assertEqual(self.scan("# none\n", 80), ["function-length"])

    def test_an_entry_lets_exactly_its_number_through(self):
        entry = "function-length tests/a.cc:Long 80\n"
        self.assertEqual(self.scan(entry, 80), [])
        self.assertEqual(self.scan(entry, 81), ["function-length"])

    def test_an_entry_may_not_linger(self):
        entry = "function-length tests/a.cc:Long 80\n"
        self.assertEqual(self.scan(entry, 75), ["ratchet"])
        self.assertEqual(self.scan(entry, 10), ["ratchet"])


if __name__ == "__main__":
    unittest.main()
