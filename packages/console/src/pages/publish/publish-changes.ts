/** The change set that publishes a resource: its protocol, gateway, resource, conditions and policy. */
import type { ItemAt } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import type { PlannedChange } from "../../records/planned-change.ts";
import { readDestination } from "./read-destination.ts";

export interface Publication {
  /** The address as a person wrote it. */
  readonly address: string;
  readonly name: string;
  /** Id of an existing gateway; empty for a new one. */
  readonly gateway: string;
  readonly gatewayName: string;
  readonly everyone: boolean;
  readonly groups: readonly string[];
  readonly needsEncryptedDisk: boolean;
  readonly needsOfficeHours: boolean;
  /** The time zone of the office hours. */
  readonly zone: string;
}

type Protocol = ItemAt<"/tenants/protocols">;

export const officeHours = { from: 8, to: 18 } as const;

const wireguardPort = "51820";

/** Returns no changes while the address cannot be read. */
export function publishChanges(given: Publication, protocols: readonly Protocol[]): readonly PlannedChange[] {
  const destination = readDestination(given.address);
  if (destination === undefined) return [];
  const { name, gateway, gatewayName, everyone, groups } = given;
  const known = protocolFor(protocols, destination.port);
  const rule = ruleOf(given);
  return [
    ...(known === undefined ? [newProtocol(destination.port)] : []),
    ...(gateway === "" ? [create("gateway", "gateways", { name: gatewayName, wireguardPort })] : []),
    create("resource", "resources", {
      name,
      type: "PRIVATE",
      addresses: [{ address: destination.address, protocols: [known?.id ?? "@protocol"] }],
    }),
    { method: "PUT", path: `/tenants/resources/@resource/gateways/${gateway === "" ? "@gateway" : gateway}` },
    ...(rule === ""
      ? []
      : [
          create("rule", "admission-rules", {
            name: t("publish.ruleName", { name }),
            rule,
            hasTimeConstraint: given.needsOfficeHours,
          }),
        ]),
    create("policy", "policies", {
      name: t("publish.policyName", { name }),
      type: "PRIVATE",
      action: true,
      ...(everyone ? { allUsers: true } : { groups: [...groups] }),
      resources: ["@resource"],
      ...(rule === "" ? {} : { rule: "@rule" }),
    }),
  ];
}

function create(as: string, noun: string, body: object): PlannedChange {
  return { method: "POST", path: `/tenants/${noun}`, as, body };
}

/** The protocol with exactly this port, or the protocol of all ports. */
export function protocolFor(protocols: readonly Protocol[], port: number | undefined): Protocol | undefined {
  if (port === undefined) return protocols.find(({ type }) => type === "ALL");
  return protocols.find(
    ({ networkProtocols }) =>
      networkProtocols.some(({ protocol }) => protocol === "TCP") &&
      networkProtocols.every((each) => each.port === String(port)),
  );
}

function newProtocol(port: number | undefined): PlannedChange {
  const network =
    port === undefined ? [{ protocol: "TCP" }, { protocol: "UDP" }] : [{ protocol: "TCP", port: String(port) }];
  return create("protocol", "protocols", { networkProtocols: network });
}

function ruleOf({ needsEncryptedDisk, needsOfficeHours, zone }: Publication): string {
  const quoted = JSON.stringify(zone);
  const hour = `now.getHours(${quoted})`;
  return [
    ...(needsEncryptedDisk ? ["device.posture.diskEncrypted == true"] : []),
    ...(needsOfficeHours
      ? [
          `now.getDayOfWeek(${quoted}) in [1, 2, 3, 4, 5]`,
          `${hour} >= ${officeHours.from} && ${hour} < ${officeHours.to}`,
        ]
      : []),
  ].join(" &&\n");
}
