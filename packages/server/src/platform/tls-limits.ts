/** The suites and groups of TLS, for incoming and outgoing connections. */

/**
 * The suites of TLS 1.2 with authenticated encryption and forward secrecy (RFC 9325, section 4.2). Node's defaults also
 * accept suites in CBC mode, and DHE with a modulus that blocks the event loop for seconds. All suites of TLS 1.3
 * remain, because OpenSSL configures them separately.
 */
const ciphers = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"]
  .flatMap((suite) => [`ECDHE-ECDSA-${suite}`, `ECDHE-RSA-${suite}`])
  .join(":");

/** Without finite-field groups, which TLS 1.3 also has: an exchange in ffdhe8192 takes a hundred times as long. */
const ecdhCurve = "X25519:P-256:P-384:P-521";

export const tlsLimits = { minVersion: "TLSv1.2", ciphers, ecdhCurve } as const;
