/**
 * Measures what decisions cost. Gatehouse, Cedar and Casbin answer the same questions about one generated tenant, and
 * their answers must agree. The benchmark also measures how the cost grows with the number of policies, and what
 * compiling, changing, searching and previewing cost.
 *
 *     npm run bench:decisions [-- --quick] [--only=compiling,decisions,changes,searches,previews]
 */
import assert from "node:assert/strict";
import { cpus } from "node:os";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { decide } from "@gatehouse/policy/decisions/decide";
import { reachableResources, subjectsWithAccess } from "@gatehouse/policy/decisions/search";
import type { FactChange, TenantFacts } from "@gatehouse/policy/model/facts";
import { compile, type Model, update } from "@gatehouse/policy/model/model";
import { casbin, cedar } from "./decisions-peers.ts";
import { measurePreviews, widestChange } from "./decisions-preview.ts";
import { addPolicies, makeDirectory, makeQuestions, type Question, ruleTexts, sizes } from "./decisions-tenant.ts";
import { reportTarget } from "./targets.ts";

const quick = process.argv.includes("--quick");
const rounds = quick ? 3 : 7;
const roundMs = quick ? 500 : 1_500;
const questionCount = 200_000;
const peerQuestionCount = quick ? 60 : 200;
const peerRoundMs = quick ? 500 : 1_500;
const changesOfEachKind = quick ? 200 : 1_000;
const searches = quick ? 20 : 100;
const few = 100;
const many = sizes.policies;
const ruleShare = 0.2;
/** The time of a preview of `widestChange`. */
const widestTargetMs = 800;

const parts = ["compiling", "decisions", "changes", "searches", "previews"] as const;
const only = process.argv.find((argument) => argument.startsWith("--only="))?.slice("--only=".length);
const wanted = new Set(only?.split(",") ?? parts);
for (const name of wanted)
  assert(
    parts.some((part) => part === name),
    `Unknown part "${name}".`,
  );

const wordsOf = { Plain: "no rules", Rules: "a fifth with rules" } as const;

const print = (line = "") => process.stdout.write(`${line}\n`);
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void; // what the flag exposes

print(`Node ${process.version}, ${cpus()[0]?.model ?? "unknown CPU"}, ${rounds} rounds`);
const directory = makeDirectory();
const tenants = {
  fewPlain: tenantWith(few, 0),
  manyPlain: tenantWith(many, 0),
  fewRules: tenantWith(few, ruleShare),
  manyRules: tenantWith(many, ruleShare),
};
if (wanted.has("compiling")) measureCompiling(tenants.manyRules);
const models = {
  fewPlain: compile(tenants.fewPlain.facts),
  manyPlain: compile(tenants.manyPlain.facts),
  fewRules: compile(tenants.fewRules.facts),
  manyRules: compile(tenants.manyRules.facts),
};
if (wanted.has("decisions")) await measureDecisions();
if (wanted.has("changes")) measureChanges(models.manyRules, tenants.manyRules);
if (wanted.has("searches")) measureSearches(models.manyRules, tenants.manyRules);
if (wanted.has("previews")) printPreviews(models.manyRules, tenants.manyRules);

interface Tenant {
  readonly facts: TenantFacts;
  readonly questions: readonly Question[];
}

function tenantWith(policyCount: number, share: number): Tenant {
  const facts = addPolicies(directory, policyCount, share);
  return { facts, questions: makeQuestions(facts, questionCount) };
}

// Decisions ---------------------------------------------------------------------------------------------------------

/** Decisions of one round. */
interface Pace {
  readonly perSecond: number;
  /** Per second of CPU time, because other load on the machine affects it less. */
  readonly perCpuSecond: number;
}

/** One implementation that is measured in alternation with the others. */
interface Contestant {
  readonly name: string;
  readonly forMs: number;
  readonly paces: Pace[];
  /** Makes some decisions. @returns how many */
  work(): number;
}

async function measureDecisions(): Promise<void> {
  const keys = Object.keys(models) as (keyof typeof models)[]; // they are its only keys
  const contestants = keys.map((key) => gatehouse(key));
  for (const key of ["fewPlain", "manyPlain", "manyRules"] as const) contestants.push(...(await peersOn(key)));
  for (const contestant of contestants) runFor(contestant, contestant.forMs);
  for (let round = 0; round < rounds; round += 1) {
    for (const contestant of contestants) contestant.paces.push(runFor(contestant, contestant.forMs));
  }
  print("\n| decisions | a second | a second of CPU time | µs of CPU time |\n|---|---|---|---|");
  for (const { name, paces } of contestants) {
    const pace = median(paces.map(({ perSecond }) => perSecond));
    const cpuPace = median(paces.map(({ perCpuSecond }) => perCpuSecond));
    print(`| ${name} | ${whole(pace)} | ${whole(cpuPace)} | ${(1e6 / cpuPace).toFixed(2)} |`);
  }
  const paceOf = (name: string) =>
    median(contestants.find((one) => one.name === name)?.paces.map(({ perCpuSecond }) => perCpuSecond) ?? []);
  print();
  for (const kind of ["Plain", "Rules"] as const) {
    const growth = paceOf(title("Gatehouse", `few${kind}`)) / paceOf(title("Gatehouse", `many${kind}`));
    print(`growth from ${few} to ${whole(many)} policies, ${wordsOf[kind]}: ${growth.toFixed(2)} times the cost`);
    const fastest = Math.max(...["Cedar", "Casbin"].map((peer) => paceOf(title(peer, `many${kind}`))));
    const ratio = paceOf(title("Gatehouse", `many${kind}`)) / fastest;
    print(`as many decisions as the faster peer at ${whole(many)} policies, ${wordsOf[kind]}: ${whole(ratio)} times`);
  }
}

function title(engine: string, key: keyof typeof models): string {
  const count = key.startsWith("few") ? few : many;
  return `${engine}, ${whole(count)} policies, ${key.endsWith("Plain") ? wordsOf.Plain : wordsOf.Rules}`;
}

function gatehouse(key: keyof typeof models): Contestant {
  const model = models[key];
  const { questions } = tenants[key];
  const batch = 10_000;
  let next = 0;
  const work = () => {
    for (let count = 0; count < batch; count += 1) {
      decide(model, questions[next] as Question); // below the length
      next = (next + 1) % questions.length;
    }
    return batch;
  };
  return { name: title("Gatehouse", key), forMs: roundMs, paces: [], work };
}

/** Returns the peers, after comparing their answers with Gatehouse's. */
async function peersOn(key: keyof typeof models): Promise<Contestant[]> {
  const { facts, questions } = tenants[key];
  const asked = questions.slice(0, peerQuestionCount);
  const peers = [cedar(facts, asked), await casbin(facts, asked)];
  const answers = asked.map((question) => decide(models[key], question).allowed);
  if (key.startsWith("many")) assert(answers.includes(true) && answers.includes(false), "the questions are too easy");
  return peers.map(({ name, asks }) => {
    for (const [index, ask] of asks.entries()) {
      assert.equal(ask(), answers[index], `${name} and Gatehouse disagree about ${JSON.stringify(asked[index])}`);
    }
    let next = 0;
    const work = () => {
      asks[next]?.();
      next = (next + 1) % asks.length;
      return 1;
    };
    return { name: title(name, key), forMs: peerRoundMs, paces: [], work };
  });
}

function runFor({ work }: Contestant, forMs: number): Pace {
  const cpu = process.cpuUsage();
  const start = performance.now();
  let done = 0;
  while (performance.now() - start < forMs) done += work();
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: done / seconds, perCpuSecond: done / ((user + system) / 1e6) };
}

// Compiling ---------------------------------------------------------------------------------------------------------

function measureCompiling({ facts, questions }: Tenant): void {
  const times: number[] = [];
  let model: Model | undefined;
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < rounds; round += 1) {
    model = undefined;
    collectGarbage();
    const start = performance.now();
    model = compile(facts);
    times.push(performance.now() - start);
  }
  collectGarbage();
  const compiled = process.memoryUsage().heapUsed - before;
  for (const question of questions) if (model !== undefined) decide(model, question);
  collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  // Uses the model once more, so that it is not garbage yet.
  if (model !== undefined) decide(model, at(questions, 0));
  print(`\ncompiling: ${median(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)} ms`);
  print(
    `the model's memory: ${mebibytes(compiled)}; ${mebibytes(heapUsed - before)} when it has been asked ${whole(questions.length)} questions`,
  );
  print(
    `the process, with the generated facts, four times as many questions, and one model: heap ${mebibytes(heapUsed)}, RSS ${mebibytes(rss)}`,
  );
}

// Changes and searches ------------------------------------------------------------------------------------------------

/** Changes a different record each time. Each change applies to the model that resulted from the previous change. */
function measureChanges(start: Model, { facts, questions }: Tenant): void {
  const { users, groups, devices, gateways, resources, policies, rules } = facts;
  let order = policies.map(({ id }) => id);
  const kinds: Readonly<Record<string, (index: number) => FactChange>> = {
    "user changed": (index) => ({ kind: "user", facts: { ...at(users, index), groups: [at(groups, index).id] } }),
    "user deleted": (index) => ({ kind: "user", gone: at(users, index + 50_000).id }),
    "group changed": (index) => ({ kind: "group", facts: { ...at(groups, index), name: `Renamed ${index}` } }),
    "device changed": (index) => ({ kind: "device", facts: { ...at(devices, index), posture: {} } }),
    "gateway changed": (index) => ({
      kind: "gateway",
      facts: { ...at(gateways, index), status: index % 2 === 0 ? "OFFLINE" : "ONLINE" },
    }),
    "resource changed": (index) => ({ kind: "resource", facts: { ...at(resources, index), name: `Renamed ${index}` } }),
    "rule changed": (index) => ({
      kind: "rule",
      facts: { ...at(rules.slice(1), index), text: index % 2 === 0 ? ruleTexts.seniority : ruleTexts.knownSystem },
    }),
    "policy created": (index) => ({
      kind: "policy",
      facts: { ...at(policies, index), id: `${index}-created`, name: `Created ${index}` },
    }),
    "policy changed": (index) => ({
      kind: "policy",
      facts: { ...at(policies, index * 7), resources: [at(resources, index).id, at(resources, index * 3).id] },
    }),
    "policy deleted": (index) => ({ kind: "policy", gone: at(policies, index * 7 + 1).id }),
    "policy moved to the front": (index) => {
      const moved = at(policies, index * 7 + 2).id;
      order = [moved, ...order.filter((id) => id !== moved)];
      return { kind: "policy-order", type: "PRIVATE", ids: order };
    },
  };
  print("\n| one change | p50 | p99 | longest |\n|---|---|---|---|");
  for (const [name, changeOf] of Object.entries(kinds)) {
    const count = name.startsWith("policy moved") ? changesOfEachKind / 10 : changesOfEachKind;
    let model = start;
    const times = Array.from({ length: count }, (_, index) => {
      const change = changeOf(index);
      const begin = performance.now();
      model = update(model, [change]);
      decide(model, at(questions, index));
      return performance.now() - begin;
    });
    print(`| ${name} | ${ms(percentile(times, 0.5))} | ${ms(percentile(times, 0.99))} | ${ms(Math.max(...times))} |`);
  }
}

function measureSearches(model: Model, { facts, questions }: Tenant): void {
  const { now } = at(questions, 0);
  const bySubject = timesOf((question) => [...reachableResources(model, question.subject, question)].length);
  const byResource = (kind: "user" | "device") =>
    timesOf((question) => [...subjectsWithAccess(model, kind, question.destination, question)].length);
  print("\n| search | p50 | longest | found, on average |\n|---|---|---|---|");
  row(`what a user with a device may reach, of ${whole(facts.resources.length)} resources`, bySubject);
  row(`who may reach a resource, of ${whole(facts.users.length)} users`, byResource("user"));
  row(`which devices may reach a resource, of ${whole(facts.devices.length)}`, byResource("device"));

  function timesOf(search: (question: Question) => number) {
    const times: number[] = [];
    let found = 0;
    for (let index = 0; index < searches; index += 1) {
      const question = { ...at(questions, index), now };
      const start = performance.now();
      found += search(question);
      times.push(performance.now() - start);
    }
    return { times, found: found / searches };
  }

  function row(name: string, { times, found }: { readonly times: number[]; readonly found: number }): void {
    print(`| ${name} | ${ms(percentile(times, 0.5))} | ${ms(Math.max(...times))} | ${whole(found)} |`);
  }
}

function printPreviews(model: Model, { facts, questions }: Tenant): void {
  const { now } = at(questions, 0);
  const given = { sourceIp: "192.0.2.1", country: "DE", now };
  for (const [circumstances, text] of [[{}, "all left open"] as const, [given, "all given"] as const]) {
    print(`\n| preview of one change, circumstances ${text} | p50 | longest | CPU p50 | listing | pairs | groups |`);
    print("|---|---|---|---|---|---|---|");
    for (const figures of measurePreviews(model, facts, circumstances, rounds)) {
      const { name, times, cpuTimes, listing, pairs, groups } = figures;
      const durations = [median(times), Math.max(...times), median(cpuTimes), listing].map(ms).join(" | ");
      print(`| ${name} | ${durations} | ${whole(pairs)} | ${whole(groups)} |`);
      if (name === widestChange) {
        reportTarget({
          name: `preview: ${name}, circumstances ${text}`,
          figure: ms(median(times)),
          target: `≤ ${widestTargetMs} ms`,
          isReached: median(times) <= widestTargetMs,
        });
      }
    }
  }
}

// Figures -----------------------------------------------------------------------------------------------------------

/** The value at an index that wraps around. */
function at<Value>(values: readonly Value[], index: number): Value {
  const value = values[index % values.length];
  if (value === undefined) throw new RangeError("There is nothing to choose from.");
  return value;
}

function percentile(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
