/**
 * Encodings of the points of small order on Curve25519: X25519 with any private key gives zero, so that such a key
 * proves nothing (RFC 7748, section 6.1). The all-zero key is one of them. X25519 ignores the highest bit.
 */
const lowOrderKeys: ReadonlySet<string> = new Set([
  "4Ot6fDtBuK4WVuP68Z/EatoJjeucMrH9hmIFFl9JuAA=",
  "4Ot6fDtBuK4WVuP68Z/EatoJjeucMrH9hmIFFl9JuIA=",
  "7P////////////////////////////////////////8=",
  "7P///////////////////////////////////////38=",
  "7f////////////////////////////////////////8=",
  "7f///////////////////////////////////////38=",
  "7v////////////////////////////////////////8=",
  "7v///////////////////////////////////////38=",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA=",
  "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA=",
  "X5yVvKNQjCSx0LFVnIPvWwREXMRYHI6G2CJO3dCfEVc=",
  "X5yVvKNQjCSx0LFVnIPvWwREXMRYHI6G2CJO3dCfEdc=",
]);

/** @param publicKey 32 bytes in canonical base64 */
export function isLowOrderKey(publicKey: string): boolean {
  return lowOrderKeys.has(publicKey);
}
