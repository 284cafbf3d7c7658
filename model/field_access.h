// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <google/protobuf/message.h>

#include "model/schema.h"

// Reads and writes settings of a configuration message by their schema entry. Texts are canonical: what
// schema::check returned.
namespace headgate::schema {

using google::protobuf::Message;

/// A menu's message with every setting at its default.
[[nodiscard]] const Message& default_of(const Menu& menu);

/// The value of a setting as the dump prints it, without quotes; the default when it is not set. A TUPLE is
/// its arguments, separated by blanks, without trailing ones that equal their default.
[[nodiscard]] std::string text_of(const Message& message, const Entry& entry);
/// As text_of, with texts in quotes as the dump has them.
[[nodiscard]] std::string dump_of(const Message& message, const Entry& entry);
/// All values of a list, as the dump prints them.
[[nodiscard]] std::vector<std::string> list_of(const Message& message, const Entry& entry);

/// Sets a scalar; one that equals its default is cleared instead.
void set(Message& message, const Entry& entry, const std::string& canonical);
/// Sets a TUPLE from its first arguments; the others get their defaults. All default: it is cleared.
void set_tuple(Message& message, const Entry& entry, const std::vector<std::string>& canonical);
/// Adds to a list, in order; false when it is there already.
bool add(Message& message, const Entry& entry, const std::vector<std::string>& canonical);
/// Whether a list holds it.
[[nodiscard]] bool contains(const Message& message, const Entry& entry,
                            const std::vector<std::string>& canonical);
/// Appends a step to STEPS; `text` is the canonical argument of its verb, empty when it has none.
void append(Message& message, const Entry& entry, const Entry& verb, const std::string& text);
/// Takes the last step away; false when there is none.
bool drop_last(Message& message, const Entry& entry);
/// Removes from a list; false when it is not there.
bool remove(Message& message, const Entry& entry, const std::vector<std::string>& canonical);

/// The object of a key in a keyed menu, null when there is none; the message of a menu without a key, where
/// the const form gives the default instance when it is not set, the other null.
[[nodiscard]] const Message* find(const Message& parent, const Entry& entry, const std::string& key);
[[nodiscard]] Message* find(Message& parent, const Entry& entry, const std::string& key);
/// The same, made in its place when there is none. Also for a menu without a key.
[[nodiscard]] Message& find_or_add(Message& parent, const Entry& entry, const std::string& key);
/// Removes an object; false when there is none.
bool erase(Message& parent, const Entry& entry, const std::string& key);
/// Drops the message of a menu without a key, or of a TUPLE, when nothing in it is set.
void clear_if_empty(Message& message, const Entry& entry);
/// The key of an object as the dump prints it.
[[nodiscard]] std::string key_of(const Message& object, const Menu& menu);

/// Puts keyed objects and lists in order, removes what stands twice in a list, and from a subset what its
/// list does not hold, drops what equals its default.
void normalise(Message& message, const Menu& menu);

}  // namespace headgate::schema
