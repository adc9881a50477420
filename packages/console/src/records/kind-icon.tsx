/** The icon of each kind of record, before its name in lists. */
import {
  BadgeCheck,
  Globe,
  History,
  IdCard,
  KeyRound,
  ListChecks,
  LogIn,
  type LucideIcon,
  MapPin,
  MonitorSmartphone,
  Network,
  Router,
  ScrollText,
  Server,
  ShieldCheck,
  TicketCheck,
  TimerReset,
  User,
  UserCog,
  Users,
  Waypoints,
  Webhook,
} from "lucide-react";
import type { ReactNode } from "react";

const icons: Readonly<Record<string, LucideIcon>> = {
  access: Waypoints,
  "access-tests": ListChecks,
  addresses: MapPin,
  "admission-rules": ScrollText,
  "api-keys": KeyRound,
  "device-approvals": BadgeCheck,
  "device-sessions": TimerReset,
  devices: MonitorSmartphone,
  domains: Globe,
  events: History,
  "enrolment-keys": TicketCheck,
  gateways: Router,
  groups: Users,
  "identity-providers": IdCard,
  policies: ShieldCheck,
  protocols: Network,
  resources: Server,
  roles: UserCog,
  "sign-ins": LogIn,
  users: User,
  webhooks: Webhook,
};

/** The paths of the pages of these kinds. */
export const kindsWithIcon = Object.keys(icons);

/** The icon of a kind above the title of an empty list. */
export function KindMark({ of }: { readonly of: string }) {
  const Icon = icons[of];
  if (Icon === undefined) return null;
  return (
    <span className="kind-mark">
      <Icon size={22} aria-hidden />
    </span>
  );
}

interface KindProps {
  /** The first part of the path of the records' pages, such as `users`. */
  readonly of: string;
  readonly children: ReactNode;
}

export function Kind({ of, children }: KindProps) {
  const Icon = icons[of];
  return (
    <span className="kind">
      {Icon !== undefined && <Icon size={15} aria-hidden />}
      {children}
    </span>
  );
}
