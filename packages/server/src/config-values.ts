/** The kinds of setting values: how to parse each, and how to describe invalid text. */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { parseIpRange } from "@gatehouse/addresses/ip-ranges";
import { isEmail } from "@gatehouse/contract/email";
import type { SmtpSettings } from "./features/mail/mail.api.ts";
import { isDatabaseUrl } from "./platform/db/database-url.ts";
import { parseMasterKey } from "./platform/secrets/master-key.ts";

/** `problem` completes "GATEHOUSE_… must be …". For a secret it contains only the length. */
export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export interface ValueKind<T> {
  /** The placeholder for the value in the help; empty for a switch. */
  readonly placeholder: string;
  read(text: string): Reading<T>;
}

function value<T>(read: T): Reading<T> {
  return { ok: true, value: read };
}

function mustBe<T>(expected: string, text: string): Reading<T> {
  return { ok: false, problem: `${expected}; it is ${JSON.stringify(text.slice(0, 100))}` };
}

function mustBeSecret<T>(expected: string, fault: string): Reading<T> {
  return { ok: false, problem: `${expected}; it ${fault}` };
}

export const yesOrNo: ValueKind<boolean> = {
  placeholder: "",
  read: (text) => (text === "true" || text === "false" ? value(text === "true") : mustBe("true or false", text)),
};

/** The kind of integers from `least` to `most`. */
export function wholeNumber(placeholder: string, least: number, most: number): ValueKind<number> {
  return {
    placeholder,
    read(text) {
      const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
      return number >= least && number <= most ? value(number) : mustBe(`an integer from ${least} to ${most}`, text);
    },
  };
}

export function oneOfThese<const V extends readonly string[]>(placeholder: string, values: V): ValueKind<V[number]> {
  return {
    placeholder,
    read(text) {
      const found = values.find((known) => known === text);
      return found === undefined ? mustBe(`one of ${values.join(", ")}`, text) : value(found);
    },
  };
}

const hostNameForm = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$/i;

export const listenHost: ValueKind<string> = {
  placeholder: "address",
  read(text) {
    // 300.1.1.1 looks like a host name, but no host name ends in a number.
    const named = hostNameForm.test(text) && !/(^|\.)\d+$/.test(text);
    return isIP(text) !== 0 || named ? value(text) : mustBe("an IP address or a host name, without a port", text);
  },
};

export const folder: ValueKind<string> = {
  placeholder: "folder",
  read: (text) => (text === "" || text.includes("\0") ? mustBe("the path of a folder", text) : value(resolve(text))),
};

export const file: ValueKind<string> = {
  placeholder: "file",
  read: (text) => (text === "" || text.includes("\0") ? mustBe("the path of a file", text) : value(resolve(text))),
};

/** Names as in the contract: 1 to 120 characters without control characters. */
export const nameOfRecord: ValueKind<string> = {
  placeholder: "name",
  read(text) {
    const name = text.trim();
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    const fits = /^[^\u0000-\u001f\u007f-\u009f]{1,120}$/u.test(name);
    return fits ? value(name) : mustBe("1 to 120 characters without control characters", text);
  },
};

export const emailAddress: ValueKind<string> = {
  placeholder: "email",
  read: (text) => (isEmail(text.trim()) ? value(text.trim()) : mustBe("an email address", text)),
};

export const addressRanges: ValueKind<readonly string[]> = {
  placeholder: "list",
  read(text) {
    const ranges = text.split(",").map((range) => range.trim());
    const wrong = ranges.map((range) => parseIpRange(range)).find((range) => !range.ok);
    return wrong === undefined || wrong.ok
      ? value(ranges)
      : { ok: false, problem: `IP addresses and CIDRs, separated by commas. ${wrong.problem.replace(/\.$/, "")}` };
  },
};

/** The base address of the server for browsers: scheme, host and optional port. The value is its origin. */
export const publicAddress: ValueKind<string> = {
  placeholder: "url",
  read(text) {
    const expected = "an address such as https://gatehouse.example.com";
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:\/\//i.test(text)) return mustBe(expected, text);
    // Not shown, because it contains a password.
    if (url.username !== "" || url.password !== "") return mustBeSecret(expected, "contains a user or a password");
    if (url.pathname !== "/" || /[?#]/.test(text)) return mustBe(`${expected}, without a path`, text);
    // Browsers can connect neither to the unspecified address nor to every name that URL accepts.
    const named = hostNameForm.test(url.hostname) || url.hostname.startsWith("[");
    if (!named || ["0.0.0.0", "[::]"].includes(url.hostname)) return mustBe(`${expected}, with a valid host`, text);
    return value(url.origin);
  },
};

export const httpsUrl: ValueKind<string> = {
  placeholder: "url",
  read(text) {
    const expected = "a URL such as https://acme.example.com/directory";
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== "https:") return mustBe(expected, text);
    if (url.username !== "" || url.password !== "") return mustBeSecret(expected, "contains a user or a password");
    return text.length > 500 || /\s/.test(text)
      ? mustBe(`${expected}, with at most 500 characters`, text)
      : value(url.href);
  },
};

/** A PostgreSQL URL. It can contain a password, so it is never shown. */
export const databaseUrl: ValueKind<string> = {
  placeholder: "url",
  read(text) {
    const expected = "a URL such as postgres://user:password@db.example.com:5432/gatehouse";
    if (!/^postgres(ql)?:\/\//.test(text))
      return mustBeSecret(expected, "does not start with postgres:// or postgresql://");
    return isDatabaseUrl(text)
      ? value(text)
      : mustBeSecret(
          expected,
          "is malformed, or has another target_session_attrs than read-write; write special characters as %XX",
        );
  },
};

/** The URL of an SMTP server. `smtp` requires STARTTLS, except on this machine or with `?tls=optional`. */
export const smtpUrl: ValueKind<SmtpSettings> = {
  placeholder: "url",
  read(text) {
    const expected = "a URL such as smtp://user:password@mail.example.com:587";
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^smtps?:$/.test(url.protocol)) {
      return mustBeSecret(expected, "does not start with smtp:// or smtps://, or is malformed");
    }
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const isImplicit = url.protocol === "smtps:";
    if (host === "") return mustBeSecret(expected, "has no host");
    if (!["", "/"].includes(url.pathname) || url.hash !== "") return mustBeSecret(expected, "has a path or a fragment");
    if (!["", "?tls=optional"].includes(url.search))
      return mustBeSecret(expected, "has other options than tls=optional");
    if (isImplicit && url.search !== "") return mustBeSecret(expected, "has tls=optional, which smtps excludes");
    const credentials = decoded([url.username, url.password]);
    if (credentials === undefined) return mustBeSecret(expected, "has a % that begins no %XX");
    const [user = "", password = ""] = credentials;
    const isLocal = host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
    return value({
      host,
      port: url.port === "" ? (isImplicit ? 465 : 587) : Number(url.port),
      tls: isImplicit ? "implicit" : isLocal || url.search !== "" ? "optional" : "starttls",
      user: user === "" ? undefined : user,
      password: user === "" ? undefined : password,
    });
  },
};

function decoded(texts: readonly string[]): readonly string[] | undefined {
  try {
    return texts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** A configured key. A key with one of Gatehouse's prefixes does not need a checksum. */
export const accessKey: ValueKind<string> = {
  placeholder: "key",
  read(text) {
    const expected = "32 to 200 printable characters without spaces";
    if (text.length < 32 || text.length > 200) return mustBeSecret(expected, `has ${text.length}`);
    if (!/^[\u0021-\u007e]+$/.test(text))
      return mustBeSecret(expected, "contains a space or a character outside ASCII");
    return value(text);
  },
};

export const masterKey: ValueKind<Buffer> = {
  placeholder: "base64",
  read(text) {
    const key = parseMasterKey(text);
    if (key !== undefined) return value(key);
    const bytes = Buffer.from(text, "base64").length;
    return mustBeSecret(
      "32 bytes in base64",
      bytes === 32 ? "contains characters that are not base64" : `has ${bytes}`,
    );
  },
};
