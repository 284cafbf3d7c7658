// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controlplane/probe/conversation.h"

namespace headgate::probe {

/// A conversation by turns, line by line, as the text protocols of mail and news have it: the server greets,
/// and answers each command. Its steps are data; the protocol says what a line means.
class Dialogue final : public Conversation {
 public:
  /// What a line is to the step that waits for it.
  enum class Sense {
    more,     ///< the answer goes on with the next line, or this one is none
    agrees,   ///< on with the next step
    refuses,  ///< the check has failed
    skips,    ///< agrees, and makes the next step unnecessary
    settles,  ///< agrees, and makes the steps that follow unnecessary
  };
  struct Step {
    std::string say;  ///< without line end; empty: the server speaks first
    Sense (*judge)(std::string_view line);
    std::string_view wanted;  ///< in words: "220", "+OK"
    std::string secret = {};  ///< what of `say` no reason may show, should the answer repeat it
    /// Where a file will come, as a line that agrees tells.
    std::optional<L4Port> (*port)(std::string_view line) = nullptr;
    /// When the answer agrees, the file comes; with its first octets the check has passed.
    bool fetch = false;
  };
  struct Script {
    std::vector<Step> steps;
    std::string_view farewell;  ///< without line end
    /// Between the first line of an answer and the last, anything may stand (RFC 959, 4.2).
    bool free_middle = false;
  };

  /// The longest line that is read: RFC 5321 and RFC 3501 have no longer ones in the answers that count here.
  static constexpr std::size_t kLongestLine = 2048;
  /// Lines of one answer, above which a server only talks.
  static constexpr std::size_t kMostLines = 256;

  explicit Dialogue(Script script) : script_(std::move(script)) {}

  [[nodiscard]] Turn begin() override;
  [[nodiscard]] Turn hear(std::string_view bytes) override;
  [[nodiscard]] Outcome end() override;
  [[nodiscard]] Turn connected(std::string_view failure) override;
  [[nodiscard]] Turn fetched(std::size_t octets) override;

 private:
  [[nodiscard]] Turn read(std::string_view& bytes);
  [[nodiscard]] Turn take(std::string_view line);
  [[nodiscard]] Sense judge(std::string_view line);
  [[nodiscard]] Turn refuse(std::string_view line) const;
  [[nodiscard]] Turn advance(Sense sense, std::optional<L4Port> port);
  [[nodiscard]] Turn say_next() const;
  [[nodiscard]] Turn resume();
  [[nodiscard]] Turn pass() const;
  [[nodiscard]] Turn fail(std::string reason) const;

  Script script_;
  std::size_t at_ = 0;  ///< the step whose answer is awaited
  std::size_t lines_ = 0;
  std::string line_;   ///< what has come of the next one
  std::string until_;  ///< how the last line of the answer will begin
  std::string rest_;   ///< what came before the second stream was there
};

/// Logs in to a mailbox: greeting, USER, PASS (RFC 1939).
[[nodiscard]] Dialogue::Script pop3_script(const std::string& user, const std::string& password);
/// Logs in to a mailbox: greeting, LOGIN (RFC 3501, 6.2.3). A server that greets with PREAUTH is content.
[[nodiscard]] Dialogue::Script imap_script(const std::string& user, const std::string& password);
/// Asks for a recipient: greeting, HELO, VRFY (RFC 5321, 3.5). 252, "cannot verify", passes: many servers
/// tell no more.
[[nodiscard]] Dialogue::Script smtp_script(const std::string& user);
/// Enters a news group: greeting, MODE READER, GROUP (RFC 3977, 6.1.1). A server that only takes news from
/// others until it is told to be read has to be told (5.3); one that knows no such mode answers so, and is as
/// well.
[[nodiscard]] Dialogue::Script nntp_script(const std::string& group);
/// Logs in as anonymous and, where a file is named, has it come (RFC 959), by EPSV (RFC 2428) or else PASV.
/// Of the address that PASV tells nothing is believed.
[[nodiscard]] Dialogue::Script ftp_script(const std::string& file);

}  // namespace headgate::probe
