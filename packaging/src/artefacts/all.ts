import type { Artefact } from "./artefact.ts";
import { device } from "./device.ts";
import { gatehouse } from "./gatehouse.ts";
import { gateway } from "./gateway.ts";

export const artefacts: readonly Artefact[] = [gatehouse, gateway, device];
