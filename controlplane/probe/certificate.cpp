// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/certificate.h"

#include <ctime>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "controlplane/probe/quoted.h"
#include "model/ip.h"

namespace headgate::probe {
namespace {

constexpr std::size_t kMostNames = 3;

std::string date(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "at an unknown time";
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string text_of(const ASN1_STRING* string) {
  const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
  return quoted({data, static_cast<std::size_t>(ASN1_STRING_length(string))});
}

std::string text_of(const GENERAL_NAME* name) {
  if (name->type == GEN_DNS) return text_of(name->d.dNSName);
  if (name->type != GEN_IPADD) return {};
  const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.iPAddress));
  return ip_of({data, static_cast<std::size_t>(ASN1_STRING_length(name->d.iPAddress))}).text();
}

std::vector<std::string> alternative_names(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::vector<std::string> out;
  for (int at = 0; at < sk_GENERAL_NAME_num(names.get()); ++at)
    if (std::string text = text_of(sk_GENERAL_NAME_value(names.get(), at)); !text.empty())
      out.push_back(std::move(text));
  return out;
}

std::string common_name(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return at < 0 ? "" : text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

/// Of the certificate that is complained about: the server's own, or one that it is signed by.
std::string which(const X509* certificate, int depth) {
  return depth == 0 ? "certificate" : fmt::format("certificate of \"{}\"", common_name(certificate));
}

}  // namespace

std::string names_of(const X509* certificate) {
  std::vector<std::string> names = alternative_names(certificate);
  if (names.empty()) names.push_back(common_name(certificate));
  if (names.front().empty()) return "nobody";
  std::string out = names.front();
  for (std::size_t at = 1; at < names.size() && at < kMostNames; ++at) out += ", " + names[at];
  return names.size() > kMostNames ? fmt::format("{} and {} more", out, names.size() - kMostNames) : out;
}

std::string complaint(X509_STORE_CTX* store, std::string_view wanted) {
  const X509* certificate = X509_STORE_CTX_get_current_cert(store);
  const int error = X509_STORE_CTX_get_error(store);
  if (!certificate) return fmt::format("certificate: {}", X509_verify_cert_error_string(error));
  const std::string it = which(certificate, X509_STORE_CTX_get_error_depth(store));
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("{} expired {}", it, date(X509_get0_notAfter(certificate)));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("{} not yet valid until {}", it, date(X509_get0_notBefore(certificate)));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format("{} is for {}, wanted {}", it, names_of(certificate), wanted);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "certificate is self-signed";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_UNTRUSTED:
      return "certificate is not trusted";
    default:
      return fmt::format("{}: {}", it, X509_verify_cert_error_string(error));
  }
}

}  // namespace headgate::probe
