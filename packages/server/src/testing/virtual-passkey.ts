/** An authenticator in software: registers one passkey, and signs with it. It can also misbehave. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** Deviations from what an honest browser and authenticator send. */
export interface Deviations {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  /** Whether the page is in a frame of another site; false by default. */
  readonly crossOrigin?: boolean;
  /** The origin of the outermost page; omitted by default, as for pages that are in no frame. */
  readonly topOrigin?: string;
  readonly userHandle?: string;
  /** Whether the person was verified; true by default. */
  readonly verified?: boolean;
  /** The private key that signs, in place of the passkey's. */
  readonly key?: KeyObject;
  readonly counter?: number;
  /** The attestation; format "none" by default. */
  readonly attestation?: Attestation;
  /** Outputs of extensions in CBOR, in the authenticator data. */
  readonly extensions?: Buffer;
}

export interface Attestation {
  readonly format: string;
  /** The certificates of the statement in DER. Without them, the passkey signs the statement itself. */
  readonly certificates?: readonly Buffer[];
}

interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id?: string };
  readonly user: { readonly id: string };
}

interface RequestOptions {
  readonly challenge: string;
  readonly rpId?: string;
}

const flags = { present: 0x01, verified: 0x04, attested: 0x40, extensions: 0x80 };

export class VirtualPasskey {
  readonly id = randomBytes(32);
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #origin: string;
  #userHandle = "";
  #counter = 0;

  /** @param origin the origin of the page */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** The response to the options of `navigator.credentials.create`. */
  register({ challenge, rp, user }: CreationOptions, deviations: Deviations = {}): object {
    this.#userHandle = user.id;
    const { x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    // A map with key type EC2, algorithm ES256, curve P-256, and both coordinates (RFC 9053, section 7.1.1).
    const publicKey = Buffer.concat([
      Buffer.from("a5010203262001215820", "hex"),
      Buffer.from(x, "base64url"),
      Buffer.from("225820", "hex"),
      Buffer.from(y, "base64url"),
    ]);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.id.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, this.id, publicKey]);
    const data = Buffer.concat([
      this.#authenticatorData(rp.id ?? "", flags.attested, deviations),
      attested,
      extensionsOf(deviations),
    ]);
    const clientData = this.#clientData("webauthn.create", challenge, deviations);
    const { format = "none", certificates } = deviations.attestation ?? {};
    const signed = Buffer.concat([data, createHash("sha256").update(clientData).digest()]);
    const signature = sign("sha256", signed, this.#keys.privateKey);
    const statement =
      format === "none"
        ? []
        : [
            [cborText("alg"), es256],
            [cborText("sig"), cborBytes(signature)],
            ...(certificates === undefined ? [] : [[cborText("x5c"), cborArray(certificates.map(cborBytes))]]),
          ];
    const attestationObject = cborMap([
      [cborText("fmt"), cborText(format)],
      [cborText("attStmt"), cborMap(statement)],
      [cborText("authData"), cborBytes(data)],
    ]);
    return this.#response({
      clientDataJSON: clientData.toString("base64url"),
      attestationObject: attestationObject.toString("base64url"),
      transports: ["internal"],
    });
  }

  /** The response to the options of `navigator.credentials.get`. */
  authenticate({ challenge, rpId = "" }: RequestOptions, deviations: Deviations = {}): object {
    this.#counter += 1;
    const clientData = this.#clientData("webauthn.get", challenge, deviations);
    const data = Buffer.concat([this.#authenticatorData(rpId, 0, deviations), extensionsOf(deviations)]);
    const signed = Buffer.concat([data, createHash("sha256").update(clientData).digest()]);
    return this.#response({
      clientDataJSON: clientData.toString("base64url"),
      authenticatorData: data.toString("base64url"),
      signature: sign("sha256", signed, deviations.key ?? this.#keys.privateKey).toString("base64url"),
      userHandle: deviations.userHandle ?? this.#userHandle,
    });
  }

  #response(response: object): object {
    const id = this.id.toString("base64url");
    return { id, rawId: id, type: "public-key", clientExtensionResults: {}, response };
  }

  #clientData(type: string, challenge: string, deviations: Deviations): Buffer {
    const { origin = this.#origin } = deviations;
    const content = {
      type: deviations.type ?? type,
      challenge: deviations.challenge ?? challenge,
      origin,
      crossOrigin: deviations.crossOrigin ?? false,
      topOrigin: deviations.topOrigin,
    };
    return Buffer.from(JSON.stringify(content));
  }

  #authenticatorData(rpId: string, more: number, deviations: Deviations): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(deviations.counter ?? this.#counter);
    const verified = deviations.verified === false ? 0 : flags.verified;
    const extended = deviations.extensions === undefined ? 0 : flags.extensions;
    return Buffer.concat([
      createHash("sha256")
        .update(deviations.rpId ?? rpId)
        .digest(),
      Buffer.from([flags.present | verified | extended | more]),
      counter,
    ]);
  }
}

const extensionsOf = ({ extensions = Buffer.alloc(0) }: Deviations) => extensions;

/** The algorithm ES256 in CBOR. */
const es256 = Buffer.from([0x26]);

/** Types of CBOR values (RFC 8949, section 3.1). */
const cborTypes = { bytes: 0x40, text: 0x60, array: 0x80, map: 0xa0 };
/** A length of up to 23 is part of the first byte. */
const lengthOfTwoBytes = 25;

function cborHead(type: number, length: number): Buffer {
  if (length <= 23) return Buffer.from([type | length]);
  return Buffer.from([type | lengthOfTwoBytes, length >> 8, length & 0xff]);
}

const cborText = (text: string) => Buffer.concat([cborHead(cborTypes.text, text.length), Buffer.from(text)]);
const cborBytes = (bytes: Buffer) => Buffer.concat([cborHead(cborTypes.bytes, bytes.length), bytes]);
const cborArray = (items: readonly Buffer[]) => Buffer.concat([cborHead(cborTypes.array, items.length), ...items]);
const cborMap = (entries: readonly (readonly Buffer[])[]) =>
  Buffer.concat([cborHead(cborTypes.map, entries.length), ...entries.flat()]);
