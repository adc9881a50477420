import fc from "fast-check";
import { expect, test } from "vitest";
import { type AgentLinkEvent, agentLink, agentLinkPhases, newAgentLink } from "./agent-link.ts";
import { type Greeting, type GreetingStep, type HelloFrame, type OpenChallenge, stepGreeting } from "./greeting.ts";
import {
  type Challenge,
  type KeyClaim,
  type KeyProof,
  type KnownKey,
  keyAfterClaim,
  keyClaimFault,
  keyProofText,
  type ProvenRole,
} from "./key-proof.ts";

/**
 * Agents, thieves of a token, and a server without sockets. A proof is the text that it authenticates together with the
 * prover's name: nobody else can make it, as with X25519 and HMAC. Thieves record every proof and send any of them.
 */
const tenant = "01980000-0000-7000-8000-000000000001";
const agent = "01980000-0000-7000-8000-000000000002";
const other = "01980000-0000-7000-8000-000000000003";
const proofBy = (key: string, text: string) => `${key} proves ${text}`;

function prove(challenge: Challenge, key: string, reported: string, role: ProvenRole, kind: "gateway" | "device") {
  return proofBy(key, keyProofText(kind, challenge, { publicKey: reported, role }));
}

class Server {
  known: KnownKey = { publicKey: undefined, isProved: false, resetUntil: undefined };
  now = 1_000;
  challenges = 0;
  readonly admitted: KeyClaim[] = [];

  newChallenge(): OpenChallenge {
    this.challenges += 1;
    const challenge: Challenge = {
      type: "challenge",
      tenant,
      agent,
      ephemeralKey: `ephemeral-${this.challenges}`,
      nonce: `nonce-${this.challenges}`,
    };
    return {
      challenge,
      claimOf: (publicKey, { proof, previous }) => ({
        publicKey,
        proof: proof === prove(challenge, publicKey, publicKey, "current", "gateway") ? "valid" : "invalid",
        previousKey:
          previous?.proof === prove(challenge, previous?.publicKey ?? "", publicKey, "previous", "gateway")
            ? previous?.publicKey
            : undefined,
      }),
    };
  }

  admit(claim: KeyClaim): boolean {
    if (keyClaimFault(this.known, claim, "current", this.now) !== undefined) return false;
    this.known = keyAfterClaim(this.known, claim);
    this.admitted.push(claim);
    return true;
  }
}

interface Link {
  greeting: Greeting<HelloFrame>;
  challenge?: Challenge;
}

/** Sends frames on a new link. @returns whether the agent was admitted */
function greet(server: Server, version: 1 | 2, frames: readonly ((link: Link) => HelloFrame | KeyProof)[]): boolean {
  const link: Link = { greeting: { phase: "hello", version } };
  for (const frame of frames) {
    const { greeting, output } = stepGreeting(link.greeting, frame(link), () => server.newChallenge());
    link.greeting = greeting;
    if (output.do === "send") link.challenge = output.message;
    if (output.do === "admit") return server.admit(output.claim);
    if (output.do === "close") return false;
  }
  return false;
}

const hello = (publicKey: string) => (): HelloFrame => ({ type: "hello", publicKey });

type Act = (world: World) => void;

class World {
  readonly server = new Server();
  /** The key of the honest agent, and its former key. */
  key = "honest-1";
  former: string | undefined;
  count = 1;
  readonly recorded: string[] = [];
  thiefAdmitted = 0;

  honest(): void {
    const admitted = greet(this.server, 2, [
      hello(this.key),
      ({ challenge }) => {
        if (challenge === undefined) throw new Error("the server sent no challenge");
        const proof = prove(challenge, this.key, this.key, "current", "gateway");
        this.recorded.push(proof);
        if (this.former === undefined) return { type: "proof", proof };
        const previous = prove(challenge, this.former, this.key, "previous", "gateway");
        this.recorded.push(previous);
        return { type: "proof", proof, previous: { publicKey: this.former, proof: previous } };
      },
    ]);
    expect(admitted).toBe(true);
    expect(this.server.known).toMatchObject({ publicKey: this.key, isProved: true });
  }

  /** A thief with the token, but without a key of the agent. */
  thief(version: 1 | 2, claimed: string, proofOf: (challenge: Challenge) => string, previous?: string): void {
    const before = this.server.known;
    const admitted = greet(this.server, version, [
      hello(claimed),
      ({ challenge }) => ({
        type: "proof",
        proof: challenge === undefined ? "" : proofOf(challenge),
        ...(previous === undefined ? {} : { previous: { publicKey: before.publicKey ?? "", proof: previous } }),
      }),
    ]);
    if (admitted) this.thiefAdmitted += 1;
    expect(admitted, `a thief claimed ${claimed} in version ${version}`).toBe(false);
    expect(this.server.known).toBe(before);
  }
}

const recordedProof = fc.nat(200);
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.constant<Act>((world) => world.honest()),
  // The honest agent replaces its key, and proves the former one.
  fc.constant<Act>((world) => {
    world.honest();
    world.former = world.key;
    world.count += 1;
    world.key = `honest-${world.count}`;
    world.honest();
  }),
  // A proof of an earlier link.
  recordedProof.map<Act>((which) => (world) => {
    world.thief(2, world.server.known.publicKey ?? "", () => world.recorded[which % world.recorded.length] ?? "");
  }),
  // A key of the thief's own, with a recorded proof as that of the former key.
  recordedProof.map<Act>((which) => (world) => {
    const proof = (challenge: Challenge) => prove(challenge, "thief", "thief", "current", "gateway");
    world.thief(2, "thief", proof, world.recorded[which % world.recorded.length]);
  }),
  // The right key would be proved for another agent, tenant, kind, role, or key.
  fc
    .constantFrom<(challenge: Challenge, key: string) => string>(
      (challenge, key) => prove({ ...challenge, agent: other }, key, key, "current", "gateway"),
      (challenge, key) => prove({ ...challenge, tenant: other }, key, key, "current", "gateway"),
      (challenge, key) => prove({ ...challenge, nonce: "nonce-0" }, key, key, "current", "gateway"),
      (challenge, key) => prove({ ...challenge, ephemeralKey: "mine" }, key, key, "current", "gateway"),
      (challenge, key) => prove(challenge, key, key, "current", "device"),
      (challenge, key) => prove(challenge, key, key, "previous", "gateway"),
      (challenge, key) => prove(challenge, key, "thief", "current", "gateway"),
      (challenge, key) =>
        prove(challenge, key, key, "current", "gateway").replace("agent-to-server", "server-to-agent"),
    )
    .map<Act>((made) => (world) => {
      const key = world.server.known.publicKey ?? "";
      world.thief(2, key, (challenge) => made(challenge, key));
    }),
  // Version 1 has no proofs.
  fc.constantFrom("thief", undefined).map<Act>((claimed) => (world) => {
    world.thief(1, claimed ?? world.server.known.publicKey ?? "", () => "");
  }),
);

test("whatever thieves of the token send, only the agent's keys are admitted", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
      const world = new World();
      world.honest();
      for (const perform of acts) perform(world);
      world.honest();
      expect(world.thiefAdmitted).toBe(0);
    }),
    { numRuns: 500 },
  );
});

test("frames out of order close a link, and a link admits once", () => {
  const frame = fc.constantFrom<HelloFrame | KeyProof | { readonly type: "later" }>(
    { type: "hello", publicKey: "k" },
    { type: "proof", proof: "p" },
    { type: "later" },
  );
  fc.assert(
    fc.property(fc.constantFrom(1 as const, 2 as const), fc.array(frame, { maxLength: 8 }), (version, frames) => {
      const server = new Server();
      let greeting: Greeting<HelloFrame> = { phase: "hello", version };
      const done: string[] = [];
      for (const each of frames) {
        const result: GreetingStep<HelloFrame> = stepGreeting(greeting, each, () => server.newChallenge());
        greeting = result.greeting;
        done.push(result.output.do);
      }
      const types = frames.map(({ type }) => type);
      const greets = version === 1 ? ["hello"] : ["hello", "proof"];
      const isGreeted = greets.every((type, index) => types[index] === type);
      expect(done.filter((each) => each === "admit")).toHaveLength(isGreeted ? 1 : 0);
      const firstWrong = types.findIndex((type, index) => type !== (greets[index] ?? "later"));
      expect(done.indexOf("close")).toBe(firstWrong);
      if (firstWrong >= 0) expect(done.slice(firstWrong).every((each) => each === "close")).toBe(true);
      expect(server.challenges).toBe(version === 2 && types[0] === "hello" ? 1 : 0);
    }),
    { numRuns: 500 },
  );
});

test.each<[KnownKey["isProved"], KeyClaim["proof"], boolean, ReturnType<typeof keyClaimFault>]>([
  [false, "none", true, undefined],
  [true, "none", true, "missing_proof"],
  [false, "none", false, "replaced"],
  [true, "none", false, "missing_proof"],
  [false, "valid", true, undefined],
  [true, "valid", false, "replaced"],
  [false, "invalid", true, "invalid_proof"],
])(
  "of a key that is proved: %s, a claim with the proof %s of the same key: %s gives %s",
  (isProved, proof, same, fault) => {
    const known = { publicKey: "known", isProved, resetUntil: undefined };
    const claim = { publicKey: same ? "known" : "new", proof, previousKey: undefined };
    for (const token of ["current", "former"] as const) {
      expect(keyClaimFault(known, claim, token, 0)).toBe(fault);
      expect(keyClaimFault(known, { ...claim, previousKey: "another" }, token, 0)).toBe(fault);
    }
    // A reset allows any key, but never a wrong proof.
    const reset = { ...known, resetUntil: 10 };
    expect(keyClaimFault(reset, claim, "current", 9)).toBe(proof === "invalid" ? "invalid_proof" : undefined);
    expect(keyClaimFault(reset, claim, "current", 10)).toBe(fault);
    // With a former token, the reset does not count.
    const isIntroduced = !same && proof !== "invalid";
    expect(keyClaimFault(reset, claim, "former", 9)).toBe(isIntroduced ? "former_token" : fault);
    expect(keyClaimFault(reset, claim, "former", 10)).toBe(fault);
  },
);

test("a former token does not introduce a key, but keeps an agent connected that proves the known key", () => {
  const claim: KeyClaim = { publicKey: "new", proof: "valid", previousKey: undefined };
  const first = { publicKey: undefined, isProved: false, resetUntil: undefined };
  expect(keyClaimFault(first, claim, "former", 0)).toBe("former_token");
  expect(keyClaimFault(first, claim, "current", 0)).toBeUndefined();
  const known = { publicKey: "known", isProved: true, resetUntil: undefined };
  const replacement = { ...claim, previousKey: "known" };
  expect(keyClaimFault(known, replacement, "former", 0)).toBeUndefined();
  // After a reset, somebody else may have the known key, too.
  expect(keyClaimFault({ ...known, resetUntil: 10 }, replacement, "former", 9)).toBe("former_token");
  expect(keyClaimFault({ ...known, resetUntil: 10 }, { ...claim, publicKey: "known" }, "former", 9)).toBeUndefined();
});

test("a reset is used once", () => {
  const reset = { publicKey: "known", isProved: true, resetUntil: 10 };
  const same: KeyClaim = { publicKey: "known", proof: "valid", previousKey: undefined };
  expect(keyAfterClaim(reset, same)).toBe(reset);
  // The current key does not use the reset, even if the agent proves that key for the first time.
  expect(keyAfterClaim({ ...reset, isProved: false }, same)).toEqual(reset);
  expect(keyAfterClaim(reset, { ...same, publicKey: "new" })).toEqual({
    publicKey: "new",
    isProved: true,
    resetUntil: undefined,
  });
});

// The agent's end.

const stepLink = agentLink<object, object, "forged">({
  headerOf: () => ({ generation: 1, issuedAt: 1 }),
  verify: () => "forged",
  ownerOf: () => ({ tenant, agent }),
  explanations: { forged: "" },
});
const functions = { sha256: (text: string) => text, verify: () => false, now: () => 0, random: () => 0 };
const challengeOf = (changes: Partial<Challenge> = {}): Challenge => ({
  type: "challenge",
  tenant,
  agent,
  ephemeralKey: `${"C".repeat(42)}A=`,
  nonce: `${"D".repeat(43)}=`,
  ...changes,
});

test("an agent proves its key once per link, only after hello, and only for itself", () => {
  const event = fc.oneof(
    fc.constantFrom<AgentLinkEvent<object>>(
      { type: "retry" },
      { type: "connected" },
      { type: "cut" },
      { type: "overdue" },
      { type: "goodbye", message: {} },
      { type: "welcome", message: { signingKey: "key", tenant } },
    ),
    fc
      .constantFrom<Partial<Challenge>>(
        {},
        {},
        {},
        { tenant: other },
        { agent: other },
        { ephemeralKey: `${"A".repeat(43)}=` },
      )
      .map<AgentLinkEvent<object>>((changes) => ({ type: "challenge", message: challengeOf(changes) })),
  );
  let proofs = 0;
  fc.assert(
    fc.property(fc.array(event, { minLength: 10, maxLength: 60, size: "max" }), (events) => {
      let link = newAgentLink<object>({ agent, tenant, signingKey: "key" });
      let hasGreeted = false;
      for (const each of [{ type: "retry" } as const, { type: "connected" } as const, ...events]) {
        const before = link.phase;
        const { link: next, outputs } = stepLink(link, each, functions);
        link = next;
        for (const output of outputs) {
          if (output.do === "connect") hasGreeted = false;
          if (output.do === "hello") hasGreeted = true;
          if (output.do !== "prove") continue;
          proofs += 1;
          expect(before).toBe("greeting");
          expect(hasGreeted).toBe(true);
          expect(link.phase).toBe("proving");
          expect(output.challenge).toEqual(challengeOf());
        }
      }
    }),
    { numRuns: 1_000 },
  );
  expect(proofs).toBeGreaterThan(100);
});

test.each([
  [{ tenant: other }, "tenant"],
  [{ agent: other }, "device"],
] as const)("a challenge for %o raises an alarm", (changes, about) => {
  const link = { ...newAgentLink<object>({ agent, tenant, signingKey: "key" }), phase: "greeting" as const };
  const { link: left, outputs } = stepLink(link, { type: "challenge", message: challengeOf(changes) }, functions);
  expect(left.phase).toBe("away");
  expect(outputs.map((output) => output.do)).toEqual(["alarm", "close", "wait"]);
  expect(outputs[0]).toMatchObject({ about });
});

test("a challenge in any other phase than greeting is never answered", () => {
  for (const phase of agentLinkPhases) {
    if (phase === "greeting") continue;
    const link = { ...newAgentLink<object>({ agent, tenant }), phase };
    const { outputs } = stepLink(link, { type: "challenge", message: challengeOf() }, functions);
    expect(outputs.some((output) => output.do === "prove")).toBe(false);
  }
});
