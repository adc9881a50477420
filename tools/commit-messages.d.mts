export const longestSubject: number;
export function commitProblems(message: string): readonly string[];
