// SPDX-License-Identifier: Apache-2.0
//
// Actions over real processes and sockets.
#include "controlplane/action/asio_actions.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/probe/connection.h"
#include "controlplane/probe/run_until.h"

namespace headgate::action {
namespace {

using namespace std::chrono_literals;
using probe::kAwait;
using Tcp = boost::asio::ip::tcp;

class AsioActionsTest : public testing::Test {
 protected:
  ~AsioActionsTest() override { std::filesystem::remove_all(directory_); }

  static std::string fresh_directory() {
    char name[] = "/tmp/headgate-actions-XXXXXX";
    return mkdtemp(name);
  }
  static Act act(std::string what) {
    return {.what = std::move(what),
            .real = 3,
            .address = Ipv4{0x0a0a020b},
            .port = 8080,
            .reason = "it's \"off\""};
  }
  std::optional<Ended> perform(Actions& actions, const std::string& what) {
    std::optional<Ended> ended;
    const Status begun = actions.begin(act(what), [&](const Ended& how) { ended = how; });
    EXPECT_TRUE(begun.ok()) << begun.error().message;
    EXPECT_FALSE(ended) << "not from inside";
    run_until(context_, [&] { return ended.has_value(); });
    return ended;
  }
  std::string shell(const std::string& script) const { return "/bin/sh -c '" + script + "'"; }
  std::string file(const std::string& name) const { return directory_ + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// "S", "Z": how the system says that a process is.
  static char state_of(pid_t process) {
    std::ifstream in("/proc/" + std::to_string(process) + "/stat");
    std::string number, name;
    char state = 'X';
    in >> number >> name >> state;
    return state;
  }

  std::string directory_ = fresh_directory();
  boost::asio::io_context context_{1};
  std::unique_ptr<Actions> actions_ = make_actions(context_);
};

TEST_F(AsioActionsTest, ACommandIsDoneWhenItEndsWell) {
  const auto ended = perform(*actions_, "/bin/true");
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->done);
  EXPECT_TRUE(ended->words.starts_with("done in ")) << ended->words;
}

TEST_F(AsioActionsTest, ACommandThatFailsSaysHow) {
  EXPECT_EQ(perform(*actions_, shell("exit 3")), (Ended{false, "ended with status 3"}));
  EXPECT_EQ(perform(*actions_, shell("kill -TERM $$")), (Ended{false, "ended by signal 15"}));
}

TEST_F(AsioActionsTest, ACommandThatIsNoneIsAnError) {
  const Status begun = actions_->begin(act("/no/such/program"), [](const Ended&) { FAIL(); });
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().message, "/no/such/program: No such file or directory");
  context_.run_for(10ms);
}

TEST_F(AsioActionsTest, ACommandGetsTheFactsAndNothingElseOfUs) {
  setenv("HEADGATE_TEST_SECRET", "x", 1);
  const int inherited = dup(STDERR_FILENO);  // without close-on-exec
  std::signal(SIGPIPE, SIG_IGN);
  const auto ended =
      perform(*actions_, shell("{ env; pwd; ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status; "
                               "} > " +
                               file("seen")));
  close(inherited);
  std::signal(SIGPIPE, SIG_DFL);
  unsetenv("HEADGATE_TEST_SECRET");
  ASSERT_TRUE(ended && ended->done) << (ended ? ended->words : "");
  const std::string seen = content("seen");
  for (const char* fact : {"HEADGATE_ACTION=restart\n", "HEADGATE_REAL=3\n", "HEADGATE_ADDRESS=10.10.2.11\n",
                           "HEADGATE_PORT=8080\n", "HEADGATE_REASON=it's \"off\"\n", "\n/\n"})
    EXPECT_NE(seen.find(fact), std::string::npos) << fact << " in " << seen;
  EXPECT_EQ(seen.find("HEADGATE_TEST_SECRET"), std::string::npos);
  const std::string ignored = seen.substr(std::min(seen.find("SigIgn:") + 7, seen.size()));
  constexpr unsigned long long kSigpipe = 1ull << (SIGPIPE - 1);
  EXPECT_EQ(std::stoull(ignored, nullptr, 16) & kSigpipe, 0u) << seen;
  EXPECT_NE(seen.find("\n4\n"), std::string::npos)
      << "stdin, out, err, and the folder that ls reads: " << seen;
}

TEST_F(AsioActionsTest, ACommandThatDoesNotEndIsKilledWithAllThatItStarted) {
  auto hasty = make_actions(context_, {.command = 200ms});
  const auto ended = perform(*hasty, shell("sleep 1000 & echo $! > " + file("child") + "; wait"));
  EXPECT_EQ(ended, (Ended{false, "killed after 0.2 s"}));
  const pid_t child = std::stoi(content("child"));
  EXPECT_TRUE(run_until(context_, [&] { return state_of(child) == 'X' || state_of(child) == 'Z'; }));
}

TEST_F(AsioActionsTest, WhatACommandLeavesRunningRunsOn) {
  const auto ended = perform(*actions_, shell("mkfifo " + file("pipe") + "; { read x < " + file("pipe") +
                                              "; echo $x > " + file("heard") + "; } &"));
  ASSERT_TRUE(ended && ended->done);
  const int pipe = open(file("pipe").c_str(), O_RDWR | O_NONBLOCK);
  EXPECT_EQ(write(pipe, "still\n", 6), 6);
  EXPECT_TRUE(run_until(context_, [&] { return content("heard") == "still\n"; }));
  close(pipe);
}

TEST_F(AsioActionsTest, ACommandThatLeftItsGroupIsKilledToo) {
  auto hasty = make_actions(context_, {.command = 100ms});
  EXPECT_EQ(perform(*hasty, "/usr/bin/setsid -w /bin/sleep 1000"), (Ended{false, "killed after 0.1 s"}));
}

/// Takes one request, whose body is one of JSON, and answers it.
boost::asio::awaitable<void> answer_one(Tcp::acceptor& acceptor, std::string answer, std::string& heard) {
  auto [error, client] = co_await acceptor.async_accept(kAwait);
  std::array<char, 4096> bytes;
  while (!heard.ends_with("}")) {
    const auto [end, length] = co_await client.async_read_some(boost::asio::buffer(bytes), kAwait);
    if (end) co_return;
    heard.append(bytes.data(), length);
  }
  co_await boost::asio::async_write(client, boost::asio::buffer(answer), kAwait);
}

TEST_F(AsioActionsTest, ACallIsAPostWithTheFactsAndAnyStatusOf2xxIsWell) {
  for (const char* status : {"204", "500"}) {
    Tcp::acceptor acceptor(context_, Tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    std::string heard;
    boost::asio::co_spawn(context_,
                          answer_one(acceptor, "HTTP/1.1 " + std::string(status) + " x\r\n\r\n", heard),
                          boost::asio::detached);
    const auto ended = perform(
        *actions_, "http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()) + "/restart");
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->done, std::string_view(status) == "204") << ended->words;
    EXPECT_TRUE(ended->done || ended->words == "status 500, wanted 200-299") << ended->words;
    EXPECT_TRUE(heard.starts_with("POST /restart HTTP/1.1\r\n")) << heard;
    EXPECT_TRUE(heard.ends_with(
        R"({"action":"restart","real":3,"address":"10.10.2.11","port":8080,"reason":"it's \"off\""})"))
        << heard;
  }
}

TEST_F(AsioActionsTest, ACallThatNobodyAnswersEnds) {
  Tcp::acceptor acceptor(context_, Tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  const std::string what = "http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  auto hasty = make_actions(context_, {.call = 100ms});
  EXPECT_EQ(perform(*hasty, what), (Ended{false, "no answer in 0.1 s"}));
  acceptor.close();
  EXPECT_EQ(perform(*hasty, what), (Ended{false, "refused"}));
}

}  // namespace
}  // namespace headgate::action
