import CCurl

/// What libcurl knows of a failed exchange, in words that name the step or the check that failed and hold
/// nothing of the request (D24).
struct CurlFault {
  var code: CURLcode
  /// The request had been let onto the wire.
  var hasBegun: Bool
  /// OpenSSL's number of the certificate check that failed (X509_V_ERR_*).
  var verifyResult: Int
  /// A proxy's answer to CONNECT; 0 for none.
  var proxyStatus: Int
  var connectMs: Int64

  var message: String {
    if !hasBegun && proxyStatus >= 300 { return "the proxy refused the tunnel with status \(proxyStatus)" }
    switch code {
    // The only time limit that libcurl is given.
    case CURLE_OPERATION_TIMEDOUT: return "connectMs: no connection within \(connectMs) ms"
    case CURLE_COULDNT_RESOLVE_HOST: return "the host name cannot be resolved"
    case CURLE_COULDNT_RESOLVE_PROXY: return "the proxy's name cannot be resolved"
    case CURLE_COULDNT_CONNECT: return "the connection was refused or has no route"
    case CURLE_PEER_FAILED_VERIFICATION: return "TLS: certificate \(certificateFault)"
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return "TLS: certificate: its public key is none of the pinned ones"
    case CURLE_SSL_CERTPROBLEM: return "TLS: client certificate: it or its key cannot be used"
    case CURLE_SSL_CACERT_BADFILE: return "TLS: certificate authorities: the file cannot be read"
    case CURLE_SSL_ISSUER_ERROR: return "TLS: certificate: wrong issuer"
    case CURLE_SSL_CONNECT_ERROR: return "TLS: the handshake failed"
    case CURLE_GOT_NOTHING: return "the connection ended without an answer"
    case CURLE_PARTIAL_FILE: return "the connection ended before the end of the answer"
    case CURLE_SEND_ERROR: return "the connection broke while the request was sent"
    case CURLE_RECV_ERROR: return "the connection broke while the answer was awaited or read"
    case CURLE_BAD_CONTENT_ENCODING: return "the answer cannot be decoded"
    default: return CurlFault.text(code)
    }
  }

  static func text(_ code: CURLcode) -> String {
    String(cString: curl_easy_strerror(code))
  }

  /// The check that failed, by OpenSSL's number of it (X509_V_ERR_*). When the chain was good and the name
  /// was not, libcurl leaves 0, or the 1 it began with.
  private var certificateFault: String {
    switch verifyResult {
    case 0, 1, 62: "is for another host name"
    case 9: "is not valid yet"
    case 10: "has expired"
    case 18: "is self-signed"
    case 19: "chain ends in a self-signed certificate that is not trusted"
    case 2, 20, 21: "issuer is not known"
    case 23: "was revoked"
    default: "cannot be verified (check \(verifyResult))"
    }
  }
}
