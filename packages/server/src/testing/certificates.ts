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
