/**
 * The server's end of a link until the agent is admitted, as a state machine without sockets or keys: gateway/SPEC.md,
 * "Proof of the key".
 */
import type { Challenge, KeyClaim, KeyProof } from "./key-proof.ts";

const linkVersions = [1, 2, 3, 4] as const;
/**
 * The versions of the subprotocols. Version 2 added proofs of keys. Version 3 added questions of devices, and limits of
 * answers at gateways. Version 4 added unserved addresses of devices.
 */
export type LinkVersion = (typeof linkVersions)[number];

/** A challenge with the function that checks its answer. */
export interface OpenChallenge {
  readonly challenge: Challenge;
  /** Checks the answer to this challenge. */
  readonly claimOf: (publicKey: string, proof: KeyProof) => KeyClaim;
}

/** The part of `hello` that both kinds of links share. */
export interface HelloFrame {
  readonly type: "hello";
  readonly publicKey: string;
}

export type Greeting<Hello extends HelloFrame> =
  | { readonly phase: "hello"; readonly version: LinkVersion }
  | { readonly phase: "proof"; readonly hello: Hello; readonly open: OpenChallenge }
  | { readonly phase: "admitted" }
  | { readonly phase: "closed" };

export type GreetingOutput<Hello extends HelloFrame> =
  | { readonly do: "send"; readonly message: Challenge }
  /** Serve the agent, if it may use the key. */
  | { readonly do: "admit"; readonly hello: Hello; readonly claim: KeyClaim }
  /** The frame is for the admitted agent. */
  | { readonly do: "forward" }
  | { readonly do: "close" };

export interface GreetingStep<Hello extends HelloFrame> {
  readonly greeting: Greeting<Hello>;
  readonly output: GreetingOutput<Hello>;
}

/** Advances a greeting by one frame of the agent. */
export function stepGreeting<Hello extends HelloFrame>(
  greeting: Greeting<Hello>,
  frame: Hello | KeyProof | { readonly type: "later" },
  newChallenge: () => OpenChallenge,
): GreetingStep<Hello> {
  const admit = (hello: Hello, claim: KeyClaim): GreetingStep<Hello> => ({
    greeting: { phase: "admitted" },
    output: { do: "admit", hello, claim },
  });
  if (greeting.phase === "hello" && isHello(frame)) {
    if (greeting.version === 1) {
      return admit(frame, { publicKey: frame.publicKey, proof: "none", previousKey: undefined });
    }
    const open = newChallenge();
    return { greeting: { phase: "proof", hello: frame, open }, output: { do: "send", message: open.challenge } };
  }
  if (greeting.phase === "proof" && frame.type === "proof") {
    return admit(greeting.hello, greeting.open.claimOf(greeting.hello.publicKey, frame));
  }
  if (greeting.phase === "admitted" && frame.type === "later") return { greeting, output: { do: "forward" } };
  return { greeting: { phase: "closed" }, output: { do: "close" } };
}

function isHello<Hello extends HelloFrame>(frame: Hello | KeyProof | { readonly type: "later" }): frame is Hello {
  return frame.type === "hello";
}

/** Returns the version of a subprotocol such as `gatehouse.gateway.2`. */
export function linkVersionOf(subprotocol: string): LinkVersion {
  return linkVersions.find((version) => subprotocol.endsWith(`.${version}`)) ?? 1;
}
