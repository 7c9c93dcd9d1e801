/** Who answered a call? */

/** `reference`: the recording itself. `none`: the call could not be made, or the options leave nobody who could answer. */
export const sources = ["reference", "cache", "model", "pool", "template", "none"] as const;
export type Source = (typeof sources)[number];
