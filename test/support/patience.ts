/**
 * How long tests wait for what happens in the background: shorter than the timeout of a test, so that what was not
 * reached is reported. No assertion may depend on it.
 */
export const EVENTUALLY_MS = 100_000;
