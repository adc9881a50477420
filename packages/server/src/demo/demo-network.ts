/** The gateways, protocols and resources of the example tenant. */
import type { ResourceType } from "@gatehouse/contract/records/address";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import type { LoadBalancingMode } from "@gatehouse/contract/records/resource";

export interface DemoGateway {
  readonly name: string;
  readonly wireguardPort: string;
  readonly endpoint: string;
  readonly description: string;
}

export interface DemoProtocol {
  readonly name: string;
  readonly networkProtocols: readonly NetworkProtocol[];
}

export interface DemoResource {
  readonly name: string;
  readonly type: ResourceType;
  readonly description: string;
  /** Addresses with the names of their protocols. */
  readonly addresses: readonly { readonly address: string; readonly protocols: readonly string[] }[];
  readonly loadBalancingMode: LoadBalancingMode;
  /** Names of gateways in order of priority. */
  readonly gateways: readonly string[];
}

/** The gateway in maintenance. */
export const demoGatewayInMaintenance = "Dublin office";

export const demoGateways: readonly DemoGateway[] = [
  gateway("Frankfurt 1", "fra-1", "First gateway of the data centre."),
  gateway("Frankfurt 2", "fra-2", "Second gateway of the data centre."),
  gateway("Dublin office", "dub-1", "In the equipment room of the Dublin office."),
  gateway("Cloud", "cloud-1", "In the network of the cloud provider."),
];

function gateway(name: string, host: string, description: string): DemoGateway {
  return { name, wireguardPort: "51820", endpoint: `${host}.gateways.example.com`, description };
}

/** Protocols in addition to the predefined ones. */
export const demoProtocols: readonly DemoProtocol[] = [
  { name: "Kubernetes", networkProtocols: [{ protocol: "TCP", port: "6443" }] },
  { name: "Dashboards", networkProtocols: [{ protocol: "TCP", port: "3000" }] },
  {
    name: "Telephony",
    networkProtocols: [
      { protocol: "TCP", port: "5061" },
      { protocol: "UDP", port: "10000-20000" },
    ],
  },
];

const dataCentre = { loadBalancingMode: "MANUAL", gateways: ["Frankfurt 1", "Frankfurt 2"] } as const;
const spread = { loadBalancingMode: "AUTOMATIC", gateways: ["Frankfurt 1", "Frankfurt 2", "Cloud"] } as const;
const cloud = { loadBalancingMode: "MANUAL", gateways: ["Cloud", "Frankfurt 1"] } as const;
const dublin = { loadBalancingMode: "MANUAL", gateways: ["Dublin office"] } as const;

type Place = Pick<DemoResource, "loadBalancingMode" | "gateways">;

function resource(type: ResourceType) {
  return (name: string, description: string, protocols: readonly string[], place: Place, ...addresses: string[]) => ({
    name,
    type,
    description,
    addresses: addresses.map((address) => ({ address, protocols })),
    ...place,
  });
}

const hosted = resource("PRIVATE");
const saas = resource("SAAS");
const internet = resource("INTERNET");

export const demoResources: readonly DemoResource[] = [
  hosted("Source code", "Repositories and reviews.", ["HTTPS", "SSH"], spread, "git.corp.example.com"),
  hosted("Build servers", "Build and test machines.", ["SSH", "HTTPS"], dataCentre, "10.20.4.0/24"),
  hosted("Kubernetes production", "Control plane of production.", ["Kubernetes"], cloud, "10.30.0.10", "10.30.0.11"),
  hosted("Kubernetes staging", "Control plane of staging.", ["Kubernetes"], cloud, "10.31.0.10"),
  hosted("Production databases", "Customers' data.", ["PostgreSQL", "MySQL"], cloud, "10.30.8.0/28"),
  hosted("Staging databases", "Synthetic data.", ["PostgreSQL", "MySQL"], cloud, "10.31.8.0/28"),
  hosted("Monitoring", "Metrics and alerts.", ["Dashboards", "HTTPS"], spread, "monitoring.corp.example.com"),
  hosted("Logs", "Logs of all services.", ["HTTPS"], spread, "logs.corp.example.com"),
  hosted("Jump hosts", "Access to machines without a service.", ["SSH", "RDP"], dataCentre, "10.20.1.10", "10.20.1.11"),
  hosted("Wiki", "Company news and guides.", ["HTTP/HTTPS"], spread, "wiki.corp.example.com"),
  hosted("File shares", "Shared folders of the departments.", ["SMB"], dataCentre, "files.corp.example.com"),
  hosted("Internal DNS", "DNS zone corp.example.com.", ["DNS"], dataCentre, "10.20.0.53", "10.20.1.53"),
  hosted("Accounting", "Ledger and invoices.", ["HTTPS"], dataCentre, "accounting.corp.example.com"),
  hosted("Payroll", "Salaries.", ["HTTPS"], dataCentre, "payroll.corp.example.com"),
  hosted("Personnel files", "Contracts and absences.", ["HTTPS"], dataCentre, "people.corp.example.com"),
  hosted("Warehouse terminals", "Terminals in the warehouse.", ["RDP", "ICMP"], dublin, "10.40.0.0/22"),
  hosted("Telephone system", "Calls between the offices.", ["Telephony"], dublin, "10.40.8.0/24"),
  hosted("Dublin office network", "Printers and meeting rooms.", ["All protocols"], dublin, "10.40.16.0/20"),
  saas("Customer records", "Customers and contracts.", ["HTTPS"], spread, "crm.example.com"),
  saas("Help desk", "Customers' questions.", ["HTTPS"], spread, "helpdesk.example.com"),
  saas("Mail", "Mail and calendars.", ["HTTPS"], spread, "mail.example.com", "*.mail.example.com"),
  saas("Video meetings", "Meetings.", ["HTTPS"], spread, "meet.example.com"),
  saas("File sharing sites", "Large files for customers.", ["HTTP/HTTPS"], spread, "*.share.example.net"),
  internet("Package registries", "Libraries for builds.", ["HTTPS"], spread, "*.packages.example.net"),
  internet("Video sites", "Films and streams.", ["HTTP/HTTPS"], spread, "*.video.example.net"),
];
