/**
 * Number of the rules by which tokens are chosen. It is part of `system_fingerprint`, so it goes up
 * by one with every change after which the same request may get another text.
 */
export const samplingRevision = 1;
