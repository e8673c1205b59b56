import { buildIfStale } from '../../../server/launch/build.ts';

/** Playwright's global setup: the browser tests run what is built, so it is built from what is there. */
export default async function buildFirst(): Promise<void> {
  await buildIfStale('app', (line) => void process.stdout.write(`${line}\n`));
}
