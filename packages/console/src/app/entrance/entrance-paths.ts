/** The page that an enrolment link opens. */
export const enrolPath = "/console/enrol";
/** The page of a tab in which a person signed in at a provider, while another tab shows the console. */
export const signedInPath = "/console/signed-in";
