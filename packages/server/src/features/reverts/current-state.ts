/** Reads the part of the tenant's current state that the plan of a revert needs. */
import type { ReferencedNoun } from "../../platform/record-references.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { accessTestView, readAccessTest, readAccessTests } from "../access-tests/access-tests.api.ts";
import { auditedAddress, readAddress } from "../addresses/addresses.api.ts";
import { admissionRuleView, readAdmissionRule } from "../admission-rules/admission-rules.api.ts";
import { deviceView, readDevices } from "../devices/devices.api.ts";
import { gatewayView, noTokens, readGateway, readSiteSettings, settingsView } from "../gateways/gateways.api.ts";
import { auditedGroup, readGroup } from "../groups/groups.api.ts";
import { lockPoliciesOfType, policyView, readPolicy } from "../policies/policies.api.ts";
import { protocolView, readProtocol } from "../protocols/protocols.api.ts";
import { existingRecords } from "../references/references.api.ts";
import { readResource, resourceView } from "../resources/resources.api.ts";
import { readTenantSettings, tenantSettingsView } from "../tenant-settings/tenant-settings.api.ts";
import { readUser, userView } from "../users/users.api.ts";
import { readWebhook, webhookView } from "../webhooks/webhooks.api.ts";
import type { State } from "./plan/recorded-state.ts";
import type { CurrentState, NeededState } from "./plan/revert-plan.ts";
import { testReferenceOf } from "./plan/update-plan.ts";

/** Reads a record in the form of its audit entries; undefined if it does not exist. */
type ReadRecord = (tx: TenantTx, id: string, now: Date) => Promise<object | undefined>;

/** Reads a row, and converts it unless it is missing. */
function reader<Row>(
  read: (tx: TenantTx, id: string) => Promise<Row | undefined>,
  view: (row: Row, now: Date) => object,
): ReadRecord {
  return async (tx, id, now) => {
    const row = await read(tx, id);
    return row === undefined ? undefined : view(row, now);
  };
}

const readers: Readonly<Record<string, ReadRecord>> = {
  user: reader(readUser, userView),
  group: reader(readGroup, auditedGroup),
  device: reader(
    async (tx, id) => (await readDevices(tx, [id]))[0],
    (row, now) => deviceView(row.device, now),
  ),
  async gateway(tx, id) {
    const [row, settings] = await Promise.all([readGateway(tx, id, false), readSiteSettings(tx, id)]);
    if (row === undefined || settings === undefined) return undefined;
    return { ...gatewayView(row, noTokens), settings: settingsView(settings) };
  },
  resource: reader(
    (tx, id) => readResource(tx, id, false),
    (row) => resourceView(row, noTokens),
  ),
  address: reader(readAddress, auditedAddress),
  protocol: reader(readProtocol, protocolView),
  "admission-rule": reader(readAdmissionRule, admissionRuleView),
  policy: reader(
    (tx, id) => readPolicy(tx, id, false),
    (row, now) => policyView(row, noTokens, now),
  ),
  "access-test": reader(readAccessTest, accessTestView),
  webhook: reader(readWebhook, webhookView),
  "tenant-settings": reader(readTenantSettings, tenantSettingsView),
};

/** Types of records that access tests are about. */
const testedTypes: ReadonlySet<string> = new Set(["user", "group", "device", "resource"]);

export async function readCurrentState(tx: TenantTx, needed: NeededState, now: Date): Promise<CurrentState> {
  const [records, existing, order, tests] = await Promise.all([
    readRecords(tx, needed.records, now),
    readExisting(tx, needed.existing),
    needed.orderOf === undefined ? [] : lockPoliciesOfType(tx, needed.orderOf),
    needed.testsOf !== undefined && testedTypes.has(needed.testsOf.type) ? readAccessTests(tx, undefined) : [],
  ]);
  const { testsOf } = needed;
  return {
    record: (type, id) => records.get(`${type} ${id}`),
    exists: (noun, id) => existing.has(`${noun} ${id}`),
    policyOrder: order.flatMap(({ id, order: position, is_default: isDefault }) =>
      isDefault ? [] : [{ id, order: position }],
    ),
    accessTests: tests
      .map((row): State => ({ ...accessTestView(row) }))
      .filter((test) => testsOf !== undefined && isAbout(test, testsOf.id)),
  };
}

/** Whether the subject or the resource of an access test is a record. */
function isAbout(test: State, id: string): boolean {
  return [test.subject, test.resource].some((reference) => testReferenceOf(reference)?.id === id);
}

async function readRecords(
  tx: TenantTx,
  wanted: NeededState["records"],
  now: Date,
): Promise<ReadonlyMap<string, State>> {
  const found = await Promise.all(
    wanted.map(async ({ type, id }) => [`${type} ${id}`, await readers[type]?.(tx, id, now)] as const),
  );
  return new Map(found.flatMap(([key, record]) => (record === undefined ? [] : [[key, { ...record }]])));
}

async function readExisting(tx: TenantTx, wanted: NeededState["existing"]): Promise<ReadonlySet<string>> {
  const byNoun = new Map<ReferencedNoun, Set<string>>();
  for (const { noun, id } of wanted) {
    const ids = byNoun.get(noun) ?? new Set();
    byNoun.set(noun, ids.add(id));
  }
  const found = await Promise.all(
    [...byNoun].map(async ([noun, ids]) =>
      [...(await existingRecords(tx, noun, [...ids]))].map((id) => `${noun} ${id}`),
    ),
  );
  return new Set(found.flat());
}
