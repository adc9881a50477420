const longestAddress = 254;
const longestLocalPart = 64;
const localPart = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
const domainName =
  /^([\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)*[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u;

/** RFC 5321, 4.1.2 and 4.5.3.1: dot-string local part of at most 64 octets, a domain name of one or more labels, 254 in all. */
export function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const local = text.slice(0, at);
  return (
    at > 0 &&
    Buffer.byteLength(text) <= longestAddress &&
    Buffer.byteLength(local) <= longestLocalPart &&
    localPart.test(local) &&
    domainName.test(text.slice(at + 1))
  );
}
