/** The groups, users and devices of the example tenant. The users are fictional and named after their work. */
import { createHash } from "node:crypto";
import type { RoleType } from "@gatehouse/contract/permissions";

export interface DemoGroup {
  readonly name: string;
  readonly description: string;
}

export interface DemoUser {
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly group: string;
  readonly attributes: {
    readonly department: string;
    readonly title: string;
    readonly country: string;
    readonly contractor: boolean;
  };
}

export interface DemoDevice {
  readonly name: string;
  readonly userEmail: string;
  readonly hardwareId: string;
  readonly publicKey: string;
  readonly os: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly posture: Readonly<Record<string, boolean | string | number>>;
}

interface Department extends DemoGroup {
  /** The name of a member, with which the email address starts. */
  readonly member: string;
  readonly titles: readonly [string, ...string[]];
  readonly size: number;
  /** Every n-th member is a contractor; 0 for none. */
  readonly contractorEvery: number;
}

const departments: readonly Department[] = [
  {
    name: "Engineering",
    description: "Builds and tests the products.",
    member: "Engineer",
    titles: ["Software engineer", "Senior software engineer", "Test engineer"],
    size: 14,
    contractorEvery: 5,
  },
  {
    name: "Operations",
    description: "Runs production, offices and the network.",
    member: "Operator",
    titles: ["Site reliability engineer", "Network engineer"],
    size: 6,
    contractorEvery: 0,
  },
  {
    name: "Sales",
    description: "Wins and retains customers.",
    member: "Seller",
    titles: ["Account manager", "Sales engineer"],
    size: 7,
    contractorEvery: 0,
  },
  {
    name: "Support",
    description: "Answers customers' questions.",
    member: "Agent",
    titles: ["Support agent", "Support lead"],
    size: 6,
    contractorEvery: 3,
  },
  {
    name: "Finance",
    description: "Keeps the books and pays salaries.",
    member: "Accountant",
    titles: ["Accountant", "Controller"],
    size: 4,
    contractorEvery: 0,
  },
  {
    name: "People",
    description: "Hires and supports staff.",
    member: "Recruiter",
    titles: ["Recruiter", "Personnel officer"],
    size: 3,
    contractorEvery: 0,
  },
];

const countries = ["DE", "DE", "IE", "FR", "NL"] as const;

export const demoGroups: readonly DemoGroup[] = departments.map(({ name, description }) => ({ name, description }));

export const demoUsers: readonly DemoUser[] = departments.flatMap(membersOf);

function membersOf({ name, member, titles, size, contractorEvery }: Department): DemoUser[] {
  return Array.from({ length: size }, (_, index) => {
    const number = String(index + 1).padStart(2, "0");
    return {
      email: `${member.toLowerCase()}-${number}@example.com`,
      firstName: member,
      lastName: number,
      group: name,
      attributes: {
        department: name,
        title: titles[index % titles.length] ?? titles[0],
        country: countries[index % countries.length] ?? countries[0],
        contractor: contractorEvery > 0 && (index + 1) % contractorEvery === 0,
      },
    };
  });
}

/** The people as whom anyone can sign in, with their roles: one of each kind of user. */
const signIns: readonly (readonly [email: string, roles: readonly RoleType[]])[] = [
  ["operator-01@example.com", ["ADMIN"]],
  ["accountant-01@example.com", ["AUDITOR"]],
  ["engineer-01@example.com", []],
];
export const demoSignInEmails: readonly string[] = signIns.map(([email]) => email);
export const demoRolesOf: ReadonlyMap<string, readonly RoleType[]> = new Map(signIns);

const computers = [
  { os: "macOS", osVersion: "15.5" },
  { os: "Windows", osVersion: "11 24H2" },
  { os: "Ubuntu", osVersion: "24.04" },
] as const;

/** Invited users without a device. */
const pendingUsers = 4;
/** Users with a phone in addition to their computer. */
const phoneOwners = 24;

const enrolled = demoUsers.filter((_user, index) => index % 10 !== 9 || index >= 10 * pendingUsers);

export const demoDevices: readonly DemoDevice[] = [
  ...enrolled.map((user, index) => computerOf(user, index)),
  ...enrolled.slice(0, phoneOwners).map((user, index) => phoneOf(user, index)),
];

/** The phone that was reported as lost. */
export const demoLostDevice = "engineer-03-phone";

function computerOf(user: DemoUser, index: number): DemoDevice {
  const name = `${user.email.split("@", 1)[0]}-laptop`;
  const { os, osVersion } = computers[index % computers.length] ?? computers[0];
  return {
    ...identityOf(name, user),
    os,
    osVersion,
    posture: {
      // A few devices are not compliant, so that the policies' rules deny some requests.
      diskEncrypted: index % 11 !== 4,
      osUpToDate: index % 7 !== 3,
      firewallEnabled: true,
      screenLockSeconds: index % 2 === 0 ? 300 : 600,
      managedBy: user.attributes.contractor ? "none" : "company",
    },
  };
}

function phoneOf(user: DemoUser, index: number): DemoDevice {
  const name = `${user.email.split("@", 1)[0]}-phone`;
  const [os, osVersion] = index % 2 === 0 ? ["iOS", "18.5"] : ["Android", "15"];
  return {
    ...identityOf(name, user),
    os,
    osVersion,
    posture: { diskEncrypted: true, osUpToDate: index % 5 !== 4, jailbroken: false, screenLockSeconds: 60 },
  };
}

function identityOf(name: string, user: DemoUser) {
  const digest = createHash("sha256").update(`Gatehouse example device ${name}`).digest();
  return {
    name,
    userEmail: user.email,
    hardwareId: `EX-${digest.toString("hex", 0, 6).toUpperCase()}`,
    // Any 32 bytes without the highest bit are a Curve25519 public key. Nobody has the private key.
    publicKey: Buffer.concat([digest.subarray(0, 31), Buffer.of((digest[31] ?? 0) & 0x7f)]).toString("base64"),
    appVersion: "0.1.0",
  };
}
