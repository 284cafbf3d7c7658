// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

struct x509_st;
struct x509_store_ctx_st;

// Certificates in an operator's words. Pure.
namespace headgate::probe {

/// What is wrong with the chain of certificates that `store` has just refused, which was wanted to be for
/// `wanted`: "certificate expired 2026-01-02", "certificate is for a.example, wanted b.example".
[[nodiscard]] std::string complaint(x509_store_ctx_st* store, std::string_view wanted);

/// Whom a certificate is for: its alternative names, else its common name; at most three of them.
[[nodiscard]] std::string names_of(const x509_st* certificate);

}  // namespace headgate::probe
