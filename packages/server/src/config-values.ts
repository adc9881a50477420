/** The kinds of value that settings have: how each is read from text, and in words what is wrong with a text. */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { parseIpRange } from "@gatehouse/addresses/ip-ranges";
import { isEmail } from "@gatehouse/contract/email";
import { isDatabaseUrl } from "./platform/db/database-url.ts";
import { parseMasterKey } from "./platform/secrets/master-key.ts";

/** `problem` completes "GATEHOUSE_… must be …"; of a secret it holds nothing but its length. */
export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export interface ValueKind<T> {
  /** Stands for the value in the help; empty for a switch that takes none. */
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

/** @returns the kind of whole numbers from `least` to `most` */
export function wholeNumber(placeholder: string, least: number, most: number): ValueKind<number> {
  return {
    placeholder,
    read(text) {
      const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
      return number >= least && number <= most
        ? value(number)
        : mustBe(`a whole number from ${least} to ${most}`, text);
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
    // 300.1.1.1 has the form of a host name, but no name ends in a number.
    const named = hostNameForm.test(text) && !/(^|\.)\d+$/.test(text);
    return isIP(text) !== 0 || named ? value(text) : mustBe("an IP address or a host name, without a port", text);
  },
};

export const folder: ValueKind<string> = {
  placeholder: "folder",
  read: (text) => (text === "" || text.includes("\0") ? mustBe("the path of a folder", text) : value(resolve(text))),
};

/** The contract's form of names: 1–120 characters, no control characters. */
export const nameOfRecord: ValueKind<string> = {
  placeholder: "name",
  read(text) {
    const name = text.trim();
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    const fits = /^[^\u0000-\u001f\u007f-\u009f]{1,120}$/u.test(name);
    return fits ? value(name) : mustBe("1 to 120 characters, none of them a control character", text);
  },
};

export const emailAddress: ValueKind<string> = {
  placeholder: "email",
  read: (text) => (isEmail(text.trim()) ? value(text.trim()) : mustBe("an e-mail address", text)),
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

/** A whole PostgreSQL URL. It may hold a password, so nothing of it is ever shown. */
export const databaseUrl: ValueKind<string> = {
  placeholder: "url",
  read(text) {
    const expected = "a URL such as postgres://user:password@db.example.com:5432/gatehouse";
    if (!/^postgres(ql)?:\/\//.test(text))
      return mustBeSecret(expected, "does not start with postgres:// or postgresql://");
    return isDatabaseUrl(text)
      ? value(text)
      : mustBeSecret(expected, "cannot be read; write special characters in it as %XX");
  },
};

/** A key set by configuration (contract, conventions). One that starts like ours needs none of our checksums. */
export const accessKey: ValueKind<string> = {
  placeholder: "key",
  read(text) {
    const expected = "32 to 200 printable characters without spaces";
    if (text.length < 32 || text.length > 200) return mustBeSecret(expected, `has ${text.length}`);
    if (!/^[\u0021-\u007e]+$/.test(text)) return mustBeSecret(expected, "has a space or a character outside ASCII");
    return value(text);
  },
};

export const masterKey: ValueKind<Buffer> = {
  placeholder: "base64",
  read(text) {
    const key = parseMasterKey(text);
    if (key !== undefined) return value(key);
    const bytes = Buffer.from(text, "base64").length;
    return mustBeSecret("32 bytes in base64", bytes === 32 ? "is written in another alphabet" : `has ${bytes}`);
  },
};
