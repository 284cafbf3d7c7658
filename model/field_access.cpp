// SPDX-License-Identifier: Apache-2.0
#include "model/field_access.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include "model/ip.h"
#include "model/line.h"
#include "model/ports.h"

namespace headgate::schema {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

/// The number in a canonical text: digits, or the name of a port.
std::uint32_t number_in(std::string_view canonical) {
  if (const auto port = port_of(canonical)) return *port;
  std::uint32_t value = 0;
  std::from_chars(canonical.data(), canonical.data() + canonical.size(), value);
  return value;
}

std::string number_text(const Entry& entry, std::uint32_t value) {
  const bool port = entry.kind == config::SERVICE && value <= 65535;
  return port ? port_text(static_cast<std::uint16_t>(value)) : std::to_string(value);
}

std::string bool_text(const Entry& entry, bool value) {
  if (entry.kind == config::POWER) return value ? "on" : "off";
  return value ? "ena" : "dis";
}

std::string scalar_text(const Message& message, const Entry& entry) {
  const Reflection& reflect = *message.GetReflection();
  switch (entry.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return bool_text(entry, reflect.GetBool(message, entry.field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return number_text(entry, reflect.GetUInt32(message, entry.field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflect.GetEnum(message, entry.field)->options().GetExtension(config::keyword);
    default:
      return reflect.GetString(message, entry.field);
  }
}

bool is_default(const Message& message, const Entry& entry) {
  const FieldDescriptor& field = *entry.field;
  const Reflection& reflect = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflect.GetBool(message, &field) == field.default_value_bool();
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflect.GetUInt32(message, &field) == field.default_value_uint32();
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflect.GetEnum(message, &field) == field.default_value_enum();
    default:
      return reflect.GetString(message, &field) == field.default_value_string();
  }
}

std::string tuple_text(const Message& tuple, const Entry& entry) {
  std::vector<std::string> texts;
  std::size_t needed = 0;
  for (const Entry& argument : entry.arguments) {
    texts.push_back(dump_of(tuple, argument));
    if (!argument.trailing || !is_default(tuple, argument)) needed = texts.size();
  }
  texts.resize(needed);
  return line::join(texts, " ");
}

void fill_tuple(Message& tuple, const Entry& entry, const std::vector<std::string>& canonical) {
  tuple.Clear();
  for (std::size_t i = 0; i < canonical.size(); ++i) set(tuple, entry.arguments[i], canonical[i]);
}

bool same(const Message& a, const Message& b) {
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

/// Where a value of a list stands, or its size.
int position(const Message& message, const Entry& entry, const std::vector<std::string>& canonical) {
  const Reflection& reflect = *message.GetReflection();
  const int size = reflect.FieldSize(message, entry.field);
  if (entry.numbers()) {
    const std::uint32_t wanted = number_in(canonical.front());
    for (int i = 0; i < size; ++i)
      if (reflect.GetRepeatedUInt32(message, entry.field, i) == wanted) return i;
    return size;
  }
  const std::unique_ptr<Message> wanted(
      reflect.GetMessageFactory()->GetPrototype(entry.field->message_type())->New());
  fill_tuple(*wanted, entry, canonical);
  for (int i = 0; i < size; ++i)
    if (same(reflect.GetRepeatedMessage(message, entry.field, i), *wanted)) return i;
  return size;
}

void take_out(Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflect = *message.GetReflection();
  for (int i = index; i + 1 < reflect.FieldSize(message, &field); ++i)
    reflect.SwapElements(&message, &field, i, i + 1);
  reflect.RemoveLast(&message, &field);
}

/// What objects are ordered by: numbers, or names.
std::pair<std::uint32_t, std::string> order_of_key(const Message& object, const Menu& menu) {
  if (menu.key->kind == config::NAME) return {0, key_of(object, menu)};
  return {object.GetReflection()->GetUInt32(object, menu.key->field), ""};
}

std::string step_text(const Message& step, const Entry& entry) {
  const auto& verb_field = *step.GetDescriptor()->FindFieldByName("verb");
  const Entry& verb =
      entry.arguments[static_cast<std::size_t>(step.GetReflection()->GetEnum(step, &verb_field)->index())];
  return verb.kind == config::AUTOMATIC ? verb.word : verb.word + " " + dump_of(step, verb);
}

/// What a tuple is ordered by: addresses and numbers by value, the rest by text.
std::vector<std::tuple<Ip, std::uint32_t, std::string>> order_of(const Message& tuple, const Entry& entry) {
  std::vector<std::tuple<Ip, std::uint32_t, std::string>> order;
  for (const Entry& argument : entry.arguments) {
    const std::string text = scalar_text(tuple, argument);
    const bool number = argument.field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
    order.emplace_back(Ip::parse(text).value_or(Ip{}), number ? number_in(text) : 0, text);
  }
  return order;
}

/// Whether element `a` of a list or keyed menu comes before `b`.
bool before(const Message& message, const Entry& entry, int a, int b) {
  const Reflection& reflect = *message.GetReflection();
  const FieldDescriptor* field = entry.field;
  if (entry.numbers())
    return reflect.GetRepeatedUInt32(message, field, a) < reflect.GetRepeatedUInt32(message, field, b);
  const Message& left = reflect.GetRepeatedMessage(message, field, a);
  const Message& right = reflect.GetRepeatedMessage(message, field, b);
  if (entry.kind == config::TUPLE) return order_of(left, entry) < order_of(right, entry);
  return order_of_key(left, *entry.menu) < order_of_key(right, *entry.menu);
}

/// Moves element `index` down to its place among those before it, which are in order.
void settle(Message& message, const Entry& entry, int index) {
  while (index > 0 && before(message, entry, index, index - 1)) {
    message.GetReflection()->SwapElements(&message, entry.field, index, index - 1);
    --index;
  }
}

void sort_list(Message& message, const Entry& entry) {
  for (int i = 1; i < message.GetReflection()->FieldSize(message, entry.field); ++i)
    settle(message, entry, i);
}

void remove_doubles(Message& message, const Entry& entry) {
  for (int i = 1; i < message.GetReflection()->FieldSize(message, entry.field);) {
    if (before(message, entry, i - 1, i))
      ++i;
    else
      take_out(message, *entry.field, i);
  }
}

}  // namespace

const Message& default_of(const Menu& menu) {
  return *google::protobuf::MessageFactory::generated_factory()->GetPrototype(menu.message);
}

std::string text_of(const Message& message, const Entry& entry) {
  if (entry.kind != config::TUPLE) return scalar_text(message, entry);
  return tuple_text(message.GetReflection()->GetMessage(message, entry.field), entry);
}

std::string dump_of(const Message& message, const Entry& entry) {
  const std::string text = text_of(message, entry);
  if (entry.kind == config::TEXT) return line::quote(text);
  // An unquoted "none" stands for the empty text.
  if (entry.kind == config::WORD) return text == "none" ? line::quote(text) : line::quote_if_needed(text);
  return text;
}

std::vector<std::string> list_of(const Message& message, const Entry& entry) {
  const Reflection& reflect = *message.GetReflection();
  std::vector<std::string> texts;
  for (int i = 0; i < reflect.FieldSize(message, entry.field); ++i)
    if (entry.numbers())
      texts.push_back(std::to_string(reflect.GetRepeatedUInt32(message, entry.field, i)));
    else
      texts.push_back(entry.kind == config::STEPS
                          ? step_text(reflect.GetRepeatedMessage(message, entry.field, i), entry)
                          : tuple_text(reflect.GetRepeatedMessage(message, entry.field, i), entry));
  return texts;
}

void set(Message& message, const Entry& entry, const std::string& canonical) {
  const Reflection& reflect = *message.GetReflection();
  const FieldDescriptor* field = entry.field;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      reflect.SetBool(&message, field, canonical == "ena" || canonical == "on");
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      reflect.SetUInt32(&message, field, number_in(canonical));
      break;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto texts = candidates(entry);
      const auto index = std::ranges::find(texts, canonical) - texts.begin();
      reflect.SetEnum(&message, field, field->enum_type()->value(static_cast<int>(index)));
      break;
    }
    default:
      reflect.SetString(&message, field, canonical);
  }
  if (is_default(message, entry)) reflect.ClearField(&message, field);
}

void set_tuple(Message& message, const Entry& entry, const std::vector<std::string>& canonical) {
  const Reflection& reflect = *message.GetReflection();
  fill_tuple(*reflect.MutableMessage(&message, entry.field), entry, canonical);
  clear_if_empty(message, entry);
}

bool add(Message& message, const Entry& entry, const std::vector<std::string>& canonical) {
  const Reflection& reflect = *message.GetReflection();
  const int size = reflect.FieldSize(message, entry.field);
  if (position(message, entry, canonical) < size) return false;
  if (entry.numbers())
    reflect.AddUInt32(&message, entry.field, number_in(canonical.front()));
  else
    fill_tuple(*reflect.AddMessage(&message, entry.field), entry, canonical);
  settle(message, entry, size);
  return true;
}

void append(Message& message, const Entry& entry, const Entry& verb, const std::string& text) {
  Message& step = *message.GetReflection()->AddMessage(&message, entry.field);
  const auto& verb_field = *step.GetDescriptor()->FindFieldByName("verb");
  const auto index = static_cast<int>(&verb - entry.arguments.data());
  step.GetReflection()->SetEnum(&step, &verb_field, verb_field.enum_type()->value(index));
  if (verb.kind != config::AUTOMATIC) step.GetReflection()->SetString(&step, verb.field, text);
}

bool drop_last(Message& message, const Entry& entry) {
  const Reflection& reflect = *message.GetReflection();
  if (reflect.FieldSize(message, entry.field) == 0) return false;
  reflect.RemoveLast(&message, entry.field);
  return true;
}

bool contains(const Message& message, const Entry& entry, const std::vector<std::string>& canonical) {
  return position(message, entry, canonical) < message.GetReflection()->FieldSize(message, entry.field);
}

bool remove(Message& message, const Entry& entry, const std::vector<std::string>& canonical) {
  const int index = position(message, entry, canonical);
  if (index == message.GetReflection()->FieldSize(message, entry.field)) return false;
  take_out(message, *entry.field, index);
  return true;
}

namespace {

/// Where an object stands, or -1. From the end: texts name objects in order, and the last again and again.
int index_of(const Message& parent, const Entry& entry, const std::string& key) {
  const Reflection& reflect = *parent.GetReflection();
  const bool named = entry.menu->key->kind == config::NAME;
  const std::pair<std::uint32_t, std::string> wanted{named ? 0 : number_in(key), named ? key : ""};
  for (int i = reflect.FieldSize(parent, entry.field) - 1; i >= 0; --i)
    if (order_of_key(reflect.GetRepeatedMessage(parent, entry.field, i), *entry.menu) == wanted) return i;
  return -1;
}

}  // namespace

const Message* find(const Message& parent, const Entry& entry, const std::string& key) {
  const Reflection& reflect = *parent.GetReflection();
  if (!entry.keyed()) return &reflect.GetMessage(parent, entry.field);
  const int index = index_of(parent, entry, key);
  return index < 0 ? nullptr : &reflect.GetRepeatedMessage(parent, entry.field, index);
}

Message* find(Message& parent, const Entry& entry, const std::string& key) {
  const Reflection& reflect = *parent.GetReflection();
  if (!entry.keyed())
    return reflect.HasField(parent, entry.field) ? reflect.MutableMessage(&parent, entry.field) : nullptr;
  const int index = index_of(parent, entry, key);
  return index < 0 ? nullptr : reflect.MutableRepeatedMessage(&parent, entry.field, index);
}

Message& find_or_add(Message& parent, const Entry& entry, const std::string& key) {
  if (Message* found = find(parent, entry, key)) return *found;
  if (!entry.keyed()) return *parent.GetReflection()->MutableMessage(&parent, entry.field);
  Message& made = *parent.GetReflection()->AddMessage(&parent, entry.field);
  const Entry& named = *entry.menu->key;
  if (named.kind == config::NAME)
    made.GetReflection()->SetString(&made, named.field, key);
  else
    made.GetReflection()->SetUInt32(&made, named.field, number_in(key));
  settle(parent, entry, parent.GetReflection()->FieldSize(parent, entry.field) - 1);
  return *find(parent, entry, key);
}

bool erase(Message& parent, const Entry& entry, const std::string& key) {
  const int index = index_of(parent, entry, key);
  if (index < 0) return false;
  take_out(parent, *entry.field, index);
  return true;
}

void clear_if_empty(Message& message, const Entry& entry) {
  const Reflection& reflect = *message.GetReflection();
  if (!reflect.HasField(message, entry.field)) return;
  const Message& below = reflect.GetMessage(message, entry.field);
  std::vector<const FieldDescriptor*> present;
  below.GetReflection()->ListFields(below, &present);
  if (present.empty()) reflect.ClearField(&message, entry.field);
}

std::string key_of(const Message& object, const Menu& menu) {
  return scalar_text(object, *menu.key);
}

namespace {

void normalise_menu(Message& message, const Entry& entry) {
  const Reflection& reflect = *message.GetReflection();
  if (!entry.keyed()) {
    if (!reflect.HasField(message, entry.field)) return;
    Message& below = *reflect.MutableMessage(&message, entry.field);
    normalise(below, *entry.menu);
    clear_if_empty(message, entry);
    return;
  }
  sort_list(message, entry);
  for (int i = 0; i < reflect.FieldSize(message, entry.field); ++i)
    normalise(*reflect.MutableRepeatedMessage(&message, entry.field, i), *entry.menu);
}

void clear_defaults(Message& tuple, const Entry& entry) {
  for (const Entry& argument : entry.arguments)
    if (is_default(tuple, argument)) tuple.GetReflection()->ClearField(&tuple, argument.field);
}

void normalise_tuple(Message& message, const Entry& entry) {
  const Reflection& reflect = *message.GetReflection();
  if (!entry.field->is_repeated()) {
    if (!reflect.HasField(message, entry.field)) return;
    Message& tuple = *reflect.MutableMessage(&message, entry.field);
    clear_defaults(tuple, entry);
    clear_if_empty(message, entry);
    return;
  }
  for (int i = 0; i < reflect.FieldSize(message, entry.field); ++i)
    clear_defaults(*reflect.MutableRepeatedMessage(&message, entry.field, i), entry);
  sort_list(message, entry);
  remove_doubles(message, entry);
}

/// Of a SUBSET: what its list does not hold is gone.
void keep_within(Message& message, const Entry& entry) {
  const Reflection& reflect = *message.GetReflection();
  const auto held = [&](std::uint32_t number) {
    for (int i = 0; i < reflect.FieldSize(message, entry.within); ++i)
      if (reflect.GetRepeatedUInt32(message, entry.within, i) == number) return true;
    return false;
  };
  for (int i = reflect.FieldSize(message, entry.field) - 1; i >= 0; --i)
    if (!held(reflect.GetRepeatedUInt32(message, entry.field, i))) take_out(message, *entry.field, i);
}

}  // namespace

void normalise(Message& message, const Menu& menu) {
  for (const Entry& entry : menu.entries) {
    if (entry.kind == config::MENU) {
      normalise_menu(message, entry);
    } else if (entry.kind == config::TUPLE) {
      normalise_tuple(message, entry);
    } else if (entry.numbers()) {
      sort_list(message, entry);
      remove_doubles(message, entry);
      if (entry.within != nullptr) keep_within(message, entry);
    } else if (entry.kind != config::STEPS && is_default(message, entry)) {
      message.GetReflection()->ClearField(&message, entry.field);
    }
  }
}

}  // namespace headgate::schema
