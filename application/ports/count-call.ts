/** Counts what an engine is asked for, by the kind of call. */
export type CountCall = (call: string, times?: number) => void;

export const uncounted: CountCall = () => undefined;
