/** The admission rules and policies of the example tenant. */
import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import { demoUsers } from "./demo-people.ts";

export interface DemoRule {
  readonly name: string;
  readonly rule: string;
  readonly hasTimeConstraint: boolean;
}

/** A policy that refers to other records by name, and to users by email address. */
export interface DemoPolicy {
  readonly name: string;
  readonly type: PolicyType;
  readonly action: boolean;
  readonly description: string;
  readonly mode?: PolicyMode;
  readonly allUsers?: true;
  readonly allResources?: true;
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
  readonly resources?: readonly string[];
  readonly gateways?: readonly string[];
  readonly sourceIps?: readonly string[];
  /** Name of a rule. */
  readonly rule?: string;
}

const compliantDevice = "Compliant device";
const officeHours = "Office hours";
const inEurope = "In Europe";
const staff = "Staff on a company device";

export const demoRules: readonly DemoRule[] = [
  {
    name: compliantDevice,
    rule: "device.posture.diskEncrypted == true && device.posture.osUpToDate == true",
    hasTimeConstraint: false,
  },
  {
    name: officeHours,
    rule: [
      'now.getDayOfWeek("Europe/Berlin") >= 1 && now.getDayOfWeek("Europe/Berlin") <= 5',
      'now.getHours("Europe/Berlin") >= 7 && now.getHours("Europe/Berlin") < 20',
    ].join(" &&\n"),
    hasTimeConstraint: true,
  },
  { name: inEurope, rule: 'source.country in ["DE", "FR", "IE", "NL"]', hasTimeConstraint: false },
  {
    name: staff,
    rule: 'user.contractor == false && device.posture.managedBy == "company"',
    hasTimeConstraint: false,
  },
];

const contractors = demoUsers.filter(({ attributes }) => attributes.contractor).map(({ email }) => email);

export const demoPolicies: readonly DemoPolicy[] = [
  {
    name: "Contractors stay out of production",
    type: "PRIVATE",
    action: false,
    description: "First, so that no later policy allows contractors.",
    users: contractors,
    resources: ["Kubernetes production", "Production databases", "Jump hosts"],
  },
  {
    name: "Production for operations",
    type: "PRIVATE",
    action: true,
    description: "Only through the nearby gateways, and only from a compliant device.",
    groups: ["Operations"],
    resources: ["Kubernetes production", "Production databases", "Jump hosts"],
    gateways: ["Cloud", "Frankfurt 1"],
    rule: compliantDevice,
  },
  {
    name: "Engineering tools",
    type: "PRIVATE",
    action: true,
    description: "Access for building and testing.",
    groups: ["Engineering", "Operations"],
    resources: ["Source code", "Build servers", "Kubernetes staging", "Staging databases", "Monitoring", "Logs"],
    rule: compliantDevice,
  },
  {
    name: "Books in office hours",
    type: "PRIVATE",
    action: true,
    description: "Payments only during office hours.",
    groups: ["Finance"],
    resources: ["Accounting", "Payroll"],
    rule: officeHours,
  },
  {
    name: "Personnel files",
    type: "PRIVATE",
    action: true,
    description: "For the team that maintains them.",
    groups: ["People"],
    resources: ["Personnel files", "Payroll"],
    rule: staff,
  },
  {
    name: "Office systems",
    type: "PRIVATE",
    action: true,
    description: "For staff who use the warehouse and telephone systems.",
    groups: ["Sales", "Support", "Operations"],
    resources: ["Warehouse terminals", "Telephone system", "Dublin office network"],
  },
  {
    name: "Intranet for everyone",
    type: "PRIVATE",
    action: true,
    description: "Access for every employee from the first day.",
    allUsers: true,
    resources: ["Wiki", "File shares", "Internal DNS"],
  },
  {
    name: "Contractors share no files",
    type: "SAAS",
    action: false,
    description: "First, so that no later policy allows it.",
    users: contractors,
    resources: ["File sharing sites"],
  },
  {
    name: "Customer systems",
    type: "SAAS",
    action: true,
    description: "Customers' data stays in Europe.",
    groups: ["Sales", "Support"],
    resources: ["Customer records", "Help desk", "File sharing sites"],
    rule: inEurope,
  },
  {
    name: "Mail and meetings",
    type: "SAAS",
    action: true,
    description: "From anywhere.",
    allUsers: true,
    resources: ["Mail", "Video meetings"],
  },
  {
    name: "Internet through Frankfurt",
    type: "INTERNET",
    action: true,
    description: "Finance and People browse from an address that banks and authorities recognize.",
    mode: "INTERNET_ACCESS_POINT",
    groups: ["Finance", "People"],
    gateways: ["Frankfurt 1", "Frankfurt 2"],
  },
  {
    name: "Dublin to the data centre",
    type: "SITETOSITE",
    action: true,
    description: "Office machines without a user.",
    sourceIps: ["10.40.0.0/16"],
    resources: ["File shares", "Internal DNS"],
  },
];
