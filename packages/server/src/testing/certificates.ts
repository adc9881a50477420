/** Self-signed certificates for localhost, valid from 2026-11-22 to 2126. Used only in tests. */

function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64.match(/.{1,64}/g)?.join("\n")}\n-----END ${label}-----\n`;
}

export const firstCertificate = {
  key: pem(
    "PRIVATE KEY",
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghOglwHe0w3t54MunRgpO6G7Iexbn68QE5rIW5/wFj3yhRANCAASz" +
      "OnruN5xmTKnDLbLt/+eYvNDXEPrkXbG+BSZtMXG5k+DPZ9qfhzMoSRkDvkjQL7p/9OdiJjynrKFgwS1ApMBL",
  ),
  cert: pem(
    "CERTIFICATE",
    "MIIBlTCCATugAwIBAgIUI/5ZPDXx86Y6dIw447TDTovSK+YwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2" +
      "MTEyMjE1NDgxMloYDzIxMjYxMDI5MTU0ODEyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC" +
      "AASzOnruN5xmTKnDLbLt/+eYvNDXEPrkXbG+BSZtMXG5k+DPZ9qfhzMoSRkDvkjQL7p/9OdiJjynrKFgwS1ApMBLo2kwZzAdBgNV" +
      "HQ4EFgQU4ZE6V+tfHOrXInl21brl289LvOcwHwYDVR0jBBgwFoAU4ZE6V+tfHOrXInl21brl289LvOcwDwYDVR0TAQH/BAUwAwEB" +
      "/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwIDSAAwRQIgVCcr+PXXK4A2YjGhEMSlJRhI1XHo6n+P8KSSlPGTaroC" +
      "IQCT5S8yTHTgDeleRFwztdTvUUCghte4NuA+EWwX/68+Ww==",
  ),
} as const;

export const secondCertificate = {
  key: pem(
    "PRIVATE KEY",
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgneva07rQtJFvbOqZCCexymqNEkp+phZYUc9dd/OVzX+hRANCAASK" +
      "99OGVAsdOfx4YtcVzgURSq7KlfXylwaqcUiovnBWvVpery6Jw6TasspePtscE2sL9s/3i0vx3DPBIxr92seP",
  ),
  cert: pem(
    "CERTIFICATE",
    "MIIBlDCCATugAwIBAgIUUkRvmxCSfNxPiszhX1E2VgqKK2cwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2" +
      "MTEyMjE1NDgxMloYDzIxMjYxMDI5MTU0ODEyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC" +
      "AASK99OGVAsdOfx4YtcVzgURSq7KlfXylwaqcUiovnBWvVpery6Jw6TasspePtscE2sL9s/3i0vx3DPBIxr92sePo2kwZzAdBgNV" +
      "HQ4EFgQUl7yxcHnQVDKFvZbbRX86tjDMancwHwYDVR0jBBgwFoAUl7yxcHnQVDKFvZbbRX86tjDMancwDwYDVR0TAQH/BAUwAwEB" +
      "/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwIDRwAwRAIgEr/JBK4UzWAsm+P9O7rD7+MDWkg/rbPYHlSEd+gHQg4C" +
      "IByHpJVchIXerBkuFeZ+I/ZQ+6x8KEK47CoJvhAsyA9g",
  ),
} as const;

/** PEM that begins like an intermediate certificate, and cannot be parsed. */
export const unreadableCertificate = pem("CERTIFICATE", "bm90IGEgY2VydGlmaWNhdGUsIGJ1dCBhbiBpbnRlcm1lZGlhdGU=");

/**
 * A certificate that names a revocation list at http://127.0.0.1:9/crl, and the self-signed certificate of its
 * authority. Both are in DER, and valid until 2126.
 */
export const revocableCertificates = [
  "MIIBjjCCATOgAwIBAgIURa0sEB8FIGTZ98cJSI/cPyuwLqkwCgYIKoZIzj0EAwIwDzENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjYxNTM5" +
    "MTNaGA8yMTI2MTEwMjE1MzkxM1owDzENMAsGA1UEAwwETGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPr9zef5fOCosrtigy+d" +
    "60vbefl59juUcWp3Gt09spQzT4nD5RoTmJG6wcjW4GBQYQr2/nzesiNLfBugtkm7UsmjazBpMCcGA1UdHwQgMB4wHKAaoBiGFmh0dHA6" +
    "Ly8xMjcuMC4wLjE6OS9jcmwwHQYDVR0OBBYEFCfiz1Gn0J9gpR8GiRalbChtNcy0MB8GA1UdIwQYMBaAFCcGsrGI+HArX9ljQAVJrS7Z" +
    "3sIyMAoGCCqGSM49BAMCA0kAMEYCIQDNyAHTEJCa6XwU+dLw+tnyQqYyy+rVSVKACOEZKvKXtAIhAN+CLWfaqFGtJrKO5ETshqS9es9U" +
    "ExkYNWPrXJXBYzsT",
  "MIIBdDCCARugAwIBAgIUOGnI6jDWsXDPjnmflf9U1rvh0oswCgYIKoZIzj0EAwIwDzENMAsGA1UEAwwEUm9vdDAgFw0yNjExMjYxNTM5" +
    "MTNaGA8yMTI2MTEwMjE1MzkxM1owDzENMAsGA1UEAwwEUm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAX+1pVxBFZJG/iKka8F" +
    "E9Z1PXojkYPHwHug5SPtshQyrVimZ8a25Sb9kjZqcr4uAt0idApV5Af0FRPujihlChSjUzBRMB0GA1UdDgQWBBQnBrKxiPhwK1/ZY0AF" +
    "Sa0u2d7CMjAfBgNVHSMEGDAWgBQnBrKxiPhwK1/ZY0AFSa0u2d7CMjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIEnT" +
    "BrK3CwlJvPQByDZLCltQNxEcpJzKcJ9jv5SnPBTTAiAi0XT2oUxYiGzIvC21rGh84GobrfAtpjKj7x3EASaqSQ==",
].map((base64) => Buffer.from(base64, "base64"));
