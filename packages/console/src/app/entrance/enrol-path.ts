/** The page that an enrolment link opens. */
export const enrolPath = "/console/enrol";
