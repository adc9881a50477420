const longestAddress = 254;
const longestLocalPart = 64;
const localPart = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
const domainName =
  /^([\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)*[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u;

/**
 * Returns whether the text is an email address (RFC 5321, sections 4.1.2 and 4.5.3.1). The local part is a dot-string
 * of at most 64 octets. The domain name has one or more labels. The address has at most 254 octets.
 */
export function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const local = text.slice(0, at);
  return (
    at > 0 &&
    utf8Length(text) <= longestAddress &&
    utf8Length(local) <= longestLocalPart &&
    localPart.test(local) &&
    domainName.test(text.slice(at + 1))
  );
}

/** The length of the text in UTF-8, in bytes. The contract has neither Buffer nor TextEncoder. */
function utf8Length(text: string): number {
  let length = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    length += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return length;
}
