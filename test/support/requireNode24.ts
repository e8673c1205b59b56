/** Vitest's global setup: requires the version of Node that Electron contains, which runs TypeScript directly. */
export default function requireNode24(): void {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 24) {
    throw new Error(
      `The tests need Node 24 or newer and this is Node ${process.versions.node}: run them with "npm run unit", ` +
        'which finds the Node 24 that "npm ci" installed, or install Node 24 where there is none for your platform.',
    );
  }
}
