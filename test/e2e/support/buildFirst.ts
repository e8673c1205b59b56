import { buildIfStale } from '../../../server/launch/build.ts';

/** Playwright's global setup: builds the app, because the browser tests run the build. */
export default async function buildFirst(): Promise<void> {
  await buildIfStale('app', (line) => void process.stdout.write(`${line}\n`));
}
