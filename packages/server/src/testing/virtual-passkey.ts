/** An authenticator in software: registers one passkey, and signs with it. It can also misbehave. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** Deviations from what an honest browser and authenticator send. */
export interface Deviations {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly userHandle?: string;
  /** Whether the person was verified; true by default. */
  readonly verified?: boolean;
  /** The private key that signs, in place of the passkey's. */
  readonly key?: KeyObject;
  readonly counter?: number;
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

const flags = { present: 0x01, verified: 0x04, attested: 0x40 };

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
    const data = Buffer.concat([this.#authenticatorData(rp.id ?? "", flags.attested, deviations), attested]);
    const size = Buffer.alloc(2);
    size.writeUInt16BE(data.length);
    // A map with the format "none", no statement, and the data.
    const attestationObject = Buffer.concat([
      Buffer.from("a363", "hex"),
      Buffer.from("fmt"),
      Buffer.from("64", "hex"),
      Buffer.from("none"),
      Buffer.from("67", "hex"),
      Buffer.from("attStmt"),
      Buffer.from("a068", "hex"),
      Buffer.from("authData"),
      Buffer.from("59", "hex"),
      size,
      data,
    ]);
    return this.#response({
      clientDataJSON: this.#clientData("webauthn.create", challenge, deviations).toString("base64url"),
      attestationObject: attestationObject.toString("base64url"),
      transports: ["internal"],
    });
  }

  /** The response to the options of `navigator.credentials.get`. */
  authenticate({ challenge, rpId = "" }: RequestOptions, deviations: Deviations = {}): object {
    this.#counter += 1;
    const clientData = this.#clientData("webauthn.get", challenge, deviations);
    const data = this.#authenticatorData(rpId, 0, deviations);
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
      crossOrigin: false,
    };
    return Buffer.from(JSON.stringify(content));
  }

  #authenticatorData(rpId: string, more: number, deviations: Deviations): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(deviations.counter ?? this.#counter);
    const verified = deviations.verified === false ? 0 : flags.verified;
    return Buffer.concat([
      createHash("sha256")
        .update(deviations.rpId ?? rpId)
        .digest(),
      Buffer.from([flags.present | verified | more]),
      counter,
    ]);
  }
}
