import * as operations from "@gatehouse/contract/operations/devices.operations";
import { type Route, route } from "../../http/route.ts";
import { enrolDevice } from "./enrolment.commands.ts";

export const enrolmentRoutes: readonly Route[] = [route(operations.enrolDevice, enrolDevice)];
