'use strict';

const { createHash, timingSafeEqual } = require('node:crypto');

const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
].join('; ');

/**
 * Keeps everybody but the page that the user opened away from the host: other users of the machine do not
 * know the secret, other sites have another origin, and a name that was pointed at this machine is no name of
 * ours. The secret comes behind the # of the link, which no browser sends, and goes in a header. It is no
 * cookie, since cookies go to every port of 127.0.0.1, whoever listens there.
 */
class Guard {
  #port;
  #secret;

  constructor(port, secret) {
    this.#port = port;
    this.#secret = secret;
  }

  get link() {
    return `http://127.0.0.1:${this.#port}/#${this.#secret}`;
  }

  /** Sets what every answer says about itself. */
  protect(response) {
    response.setHeader('Content-Security-Policy', POLICY);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cache-Control', 'no-store');
  }

  /**
   * Why a request is not served; undefined when it is.
   * @param {boolean} asks whether it is a call, and not a file of the page
   */
  refusal({ headers }, asks) {
    const hosts = [`127.0.0.1:${this.#port}`, `localhost:${this.#port}`];
    if (!hosts.includes(headers.host)) return 'This host is unknown here.';
    if (headers.origin !== undefined && headers.origin !== `http://${headers.host}`) {
      return 'Another site may not ask.';
    }
    if (asks && !this.#knowsSecret(headers.authorization)) {
      return 'Open the link that the program has printed.';
    }
    return undefined;
  }

  #knowsSecret(authorization) {
    const [scheme, secret = ''] = (authorization || '').split(' ');
    return scheme === 'Bearer' && timingSafeEqual(digest(secret), digest(this.#secret));
  }
}

/** Of one length whatever was sent, as the comparison wants it. */
function digest(text) {
  return createHash('sha256').update(text).digest();
}

module.exports = { Guard };
