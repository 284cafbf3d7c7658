// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/tls_bed.h"

#include <array>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace headgate::probe {
namespace {

void set_time(ASN1_TIME* field, Day day) {
  ASN1_TIME_set(field, std::chrono::system_clock::to_time_t(day));
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void set_name(X509* certificate, const std::string& name) {
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
}

}  // namespace

Identity make_identity(const Paper& paper, const Identity* issuer) {
  Identity out{{paper.weak ? EVP_RSA_gen(1024) : EVP_EC_gen("P-256"), EVP_PKEY_free},
               {X509_new(), X509_free}};
  X509* certificate = out.certificate.get();
  const Identity& signer = issuer ? *issuer : out;
  static long serial = 0;
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  set_name(certificate, paper.name);
  X509_set_issuer_name(certificate, X509_get_subject_name(signer.certificate.get()));
  set_time(X509_getm_notBefore(certificate), paper.from);
  set_time(X509_getm_notAfter(certificate), paper.to);
  X509_set_pubkey(certificate, out.key.get());
  if (paper.issues) extend(certificate, signer.certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  extend(certificate, signer.certificate.get(), NID_subject_alt_name,
         paper.also.empty() ? "DNS:" + paper.name : paper.also);
  X509_sign(certificate, signer.key.get(), EVP_sha256());
  return out;
}

std::string pem(const Identity& identity) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(out.get(), identity.certificate.get());
  std::string text(BIO_ctrl_pending(out.get()), '\0');
  BIO_read(out.get(), text.data(), static_cast<int>(text.size()));
  return text;
}

TlsServer::Context TlsServer::context(const Identity& identity, const Ways& ways) {
  Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), ways.lowest);
  SSL_CTX_set_max_proto_version(context.get(), ways.highest);
  if (!ways.ciphers.empty()) SSL_CTX_set_cipher_list(context.get(), ways.ciphers.c_str());
  SSL_CTX_set_dh_auto(context.get(), 1);
  SSL_CTX_use_certificate(context.get(), identity.certificate.get());
  SSL_CTX_use_PrivateKey(context.get(), identity.key.get());
  if (ways.wants_certificate)
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_tlsext_servername_callback(
      context.get(), +[](SSL* ssl, int*, void*) -> int {
        if (const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name))
          *static_cast<std::string*>(SSL_get_app_data(ssl)) = name;
        return SSL_TLSEXT_ERR_OK;
      });
  return context;
}

TlsServer::TlsServer(Context shared)
    : context_(std::move(shared)),
      ssl_(SSL_new(context_.get()), SSL_free),
      in_(BIO_new(BIO_s_mem())),
      out_(BIO_new(BIO_s_mem())) {
  SSL_set_app_data(ssl_.get(), &asked_for_);
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_accept_state(ssl_.get());
}

void TlsServer::expect(std::string request, std::string page) {
  request_ = std::move(request);
  page_ = std::move(page);
}

std::string TlsServer::answer(std::string_view bytes) {
  BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  std::array<char, 4096> piece;
  ERR_clear_error();
  for (int length; (length = SSL_read(ssl_.get(), piece.data(), piece.size())) > 0;)
    heard_.append(piece.data(), static_cast<std::size_t>(length));
  if (!request_.empty() && heard_ == request_ && !page_.empty()) {
    SSL_write(ssl_.get(), page_.data(), static_cast<int>(page_.size()));
    SSL_shutdown(ssl_.get());
    page_.clear();
  }
  std::string out(BIO_ctrl_pending(out_), '\0');
  if (!out.empty()) BIO_read(out_, out.data(), static_cast<int>(out.size()));
  return out;
}

}  // namespace headgate::probe
